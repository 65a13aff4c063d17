#!/usr/bin/env python3
"""Translates PTX, as `nvcc -ptx` writes it, to C++ for the emulated device: each kernel becomes a
function that a fiber runs for each CUDA thread, and each access is checked (ptx.hpp). Knows the
instructions that Wordloom's kernels use, and stops with the text of any other one.
Usage: ptx_to_cpp.py IN.ptx OUT.cpp"""
import re
import sys

TYPES = {'pred': 'bool', 'b8': 'u8', 'u8': 'u8', 's8': 's8', 'b16': 'u16', 'u16': 'u16',
         's16': 's16', 'b32': 'u32', 'u32': 'u32', 's32': 's32', 'b64': 'u64', 'u64': 'u64',
         's64': 's64', 'f32': 'float', 'f64': 'double'}
SIZES = {'u8': 1, 's8': 1, 'u16': 2, 's16': 2, 'u32': 4, 's32': 4, 'float': 4, 'u64': 8, 's64': 8,
         'double': 8}
WIDER = {'u16': 'u32', 's16': 's32', 'u32': 'u64', 's32': 's64', 'u64': '__uint128_t',
         's64': '__int128_t'}
SPECIAL = {'%tid.x': 'threadIdx.x', '%ctaid.x': 'blockIdx.x', '%ntid.x': 'blockDim.x',
           '%nctaid.x': 'gridDim.x'}
COMPARISONS = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=',
               'lo': '<', 'ls': '<=', 'hi': '>', 'hs': '>='}
# Those that are true where an operand is NaN: the opposite of an ordered comparison.
UNORDERED = {'equ': '!=', 'neu': '==', 'ltu': '>=', 'leu': '>', 'gtu': '<=', 'geu': '<'}
OPERATORS = {'add': '+', 'sub': '-', 'and': '&', 'or': '|', 'xor': '^'}
FUNCTIONS = {'abs': 'std::fabs', 'ex2': 'std::exp2', 'lg2': 'std::log2', 'sqrt': 'std::sqrt'}
SHUFFLES = {'bfly': '__shfl_xor_sync', 'idx': '__shfl_sync'}
# What may stand between the name of an instruction and its type. `ftz` and `approx` are ignored:
# they change less than the tests notice.
MODIFIERS = {
    'bra': {'uni'}, 'ret': set(), 'exit': set(), 'mov': set(), 'cvta': {'to', 'global'},
    'ld': {'param', 'global', 'shared', 'local', 'cg', 'nc', 'v2', 'v4'},
    'st': {'global', 'shared', 'local', 'v2', 'v4'},
    'cvt': {'rn', 'rni', 'rzi', *TYPES}, 'add': {'rn'}, 'sub': {'rn'}, 'and': set(), 'or': set(),
    'xor': set(), 'not': set(), 'neg': set(), 'mul': {'lo', 'hi', 'wide', 'rn'}, 'mad': {'lo'},
    'fma': {'rn'}, 'div': {'rn', 'approx', 'full', 'ftz'}, 'rem': set(), 'min': set(),
    'max': set(), 'abs': set(), 'ex2': {'approx', 'ftz'}, 'lg2': {'approx', 'ftz'},
    'sqrt': {'rn', 'approx', 'ftz'}, 'rcp': {'rn', 'approx', 'ftz'}, 'popc': set(), 'bfi': set(),
    'shl': set(), 'shr': set(), 'setp': {*COMPARISONS, *UNORDERED}, 'selp': set(),
    'shfl': {'sync', *SHUFFLES}, 'vote': {'sync', 'ballot'}, 'bar': {'warp', 'sync'},
    'atom': {'global', 'add', 'v2', 'v4'}, 'red': {'global', 'add', 'v2', 'v4'}}
INSTRUCTION = re.compile(r'(?:@(!?)(%p\d+)\s+)?([a-z]\w*)((?:[.:]+\w+)*)\s*(.*)', re.S)


def variable(register):
    return register.strip().replace('%', 'r_').replace('.', '_')


class Kernel:
    """The C++ of one kernel. `parameters`: the offset of each, of `bytes` in all; `local`: the name
    of its local memory; `shared`: names of the dynamic shared memory of the file."""

    def __init__(self, name, parameters, bytes, local, shared):
        self.name, self.parameters, self.bytes = name, parameters, bytes
        self.local, self.shared = local, shared
        self.lines = []
        self.dropped = set()  # registers for the old values of atomics

    def fail(self, text):
        raise SystemExit(f'ptx_to_cpp.py: {self.name}: does not know: {text}')

    def value(self, operand, kind):
        operand = operand.strip()
        if operand in SPECIAL:
            return f'{kind}({SPECIAL[operand]})'
        if operand.startswith('%'):
            return f'as<{kind}>({variable(operand)})'
        if re.fullmatch(r'0[fF][0-9A-Fa-f]{8}', operand):
            return f'as<{kind}>(as<float>(0x{operand[2:]}u))'
        if re.fullmatch(r'0[dD][0-9A-Fa-f]{16}', operand):
            return f'as<{kind}>(as<double>(u64(0x{operand[2:]}ull)))'
        if operand == '-9223372036854775808':
            return f'{kind}(1ull << 63)'
        if re.fullmatch(r'-?(0x[0-9A-Fa-f]+|\d+)', operand):
            return f'{kind}({operand}ll)'
        if operand == self.local:
            return f'{kind}(reinterpret_cast<u64>({operand}))'
        if operand in self.shared:
            return f'{kind}(0)'
        if operand in self.parameters:
            return f'{kind}(reinterpret_cast<u64>(parameters + {self.parameters[operand]}))'
        self.fail(f'operand {operand}')

    def address(self, operand, space, size):
        match = re.fullmatch(r'\[([^\]+]+)(?:\+(-?\d+))?\]', operand)
        if not match:
            self.fail(f'address {operand}')
        base, offset = match.group(1).strip(), match.group(2) or '0'
        if space == 'param' and base in self.parameters:
            return f'parameters + {self.parameters[base]} + {offset}'
        within = {'local': f', {self.local}', 'param': f', parameters, {self.bytes}'}.get(space, '')
        return f'at_{space}(u64({self.value(base, "s64")} + {offset}), {size}{within})'

    def translate(self, text):
        match = INSTRUCTION.fullmatch(text)
        if not match:
            self.fail(text)
        negated, predicate, name, suffix, rest = match.groups()
        parts = re.findall(r'\w+', suffix)
        kind = TYPES.get(parts[-1]) if parts else None
        if kind and name not in ('bra', 'ret', 'exit', 'bar'):
            parts.pop()
        if name not in MODIFIERS or not set(parts) <= MODIFIERS[name]:
            self.fail(text)
        arguments = [a.strip() for a in re.findall(r'\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*', rest)]
        guard = f'if ({negated}{variable(predicate)}) ' if predicate else ''
        self.lines.append(guard + self.statement(text, name, parts, kind, arguments))

    def statement(self, text, name, parts, kind, arguments):
        """Returns the C++ of an instruction with the modifiers `parts`."""
        def v(i, of=None):
            return self.value(arguments[i], of or kind)

        def result(expression):
            return f'set({variable(arguments[0])}, {expression});'

        unsigned = kind.replace('s', 'u') if kind and kind[0] == 's' else kind
        is_float = kind in ('float', 'double')
        count = next((int(p[1]) for p in parts if p in ('v2', 'v4')), 1)
        if name == 'bra':
            return f'goto {arguments[0].replace("$", "")};'
        if name in ('ret', 'exit'):
            return 'return;'
        if name in ('ld', 'st'):
            space = next((p for p in parts if p in ('param', 'global', 'shared', 'local')), None)
            if space is None:
                self.fail(text)  # a generic address
            place, cells = arguments if name == 'st' else reversed(arguments)
            body = f'auto* const p = {self.address(place, space, SIZES[kind] * count)};'
            if space == 'global' and 'cg' in parts:
                body += ' emu::maybe_yield();'
            for i, cell in enumerate(cells.strip('{}').split(',')):
                at = f'p + {i * SIZES[kind]}'
                body += (f' set({variable(cell)}, read<{kind}>({at}));' if name == 'ld' else
                         f' write<{kind}>({at}, {self.value(cell, kind)});')
            return f'{{ {body} }}'
        if name in ('atom', 'red'):
            place, given = arguments[-2:]
            place = self.address(place, 'global', SIZES[kind] * count)
            if kind == 'u32' and name == 'atom':
                call = f'atomicAdd(reinterpret_cast<u32*>({place}), {self.value(given, kind)})'
                return result(call)
            if not is_float:
                self.fail(text)
            if name == 'atom':
                self.dropped.update(variable(t) for t in arguments[0].strip('{}').split(','))
            body = f'auto* const p = reinterpret_cast<{kind}*>({place});'
            for i, cell in enumerate(given.strip('{}').split(',')):
                body += f' atomicAdd(p + {i}, {self.value(cell, kind)});'
            return f'{{ {body} }}'
        if name == 'bar':
            if parts == ['warp', 'sync']:
                return f'__syncwarp({v(0, "u32")});'
            if parts != ['sync'] or arguments != ['0']:
                self.fail(text)
            return '__syncthreads();'
        if name == 'shfl':
            target = variable(arguments[0].split('|')[0])
            call = f'{SHUFFLES[parts[1]]}({v(4, "u32")}, {v(1, "u32")}, s32({v(2, "u32")}))'
            return (f'{{ if ({v(3, "u32")} != 31) emu::die("PTX: a shuffle of parts of a warp"); '
                    f'set({target}, {call}); }}')
        if name == 'vote':
            return result(f'__ballot_sync({v(2, "u32")}, {v(1, "bool")})')
        if name == 'mov':
            return result(v(1))
        if name == 'cvta':
            return result(v(1, 'u64'))
        if name == 'cvt':
            to = TYPES[parts[-1]]
            to_float = to in ('float', 'double')
            if is_float and to_float and 'rni' in parts:
                return result(f'std::nearbyint({v(1)})')
            if 'rni' in parts or is_float and to_float == ('rzi' in parts):
                self.fail(text)  # another rounding than C++ has
            return result(f'{to}({v(1)})')
        if name in OPERATORS:
            return result(f'{kind}({v(1, unsigned)} {OPERATORS[name]} {v(2, unsigned)})')
        if name == 'not':
            return result(f'!{v(1)}' if kind == 'bool' else f'{kind}(~{v(1)})')
        if name == 'neg':
            return result(f'{kind}(-{v(1)})')
        if name == 'mul' and 'wide' in parts:
            wide = WIDER[kind]
            return result(f'{wide}({wide}({v(1)}) * {wide}({v(2)}))')
        if name == 'mul' and 'hi' in parts:
            if kind not in WIDER:
                self.fail(text)
            wide = WIDER[kind]
            return result(f'{kind}({wide}({v(1)}) * {wide}({v(2)}) >> {8 * SIZES[kind]})')
        if name == 'mul':
            factor = kind if is_float else 'u64'
            return result(f'{kind}({factor}({v(1)}) * {factor}({v(2)}))')
        if name == 'mad':
            return result(f'{kind}(u64({v(1)}) * u64({v(2)}) + u64({v(3)}))')
        if name == 'fma':
            return result(f'std::fma({v(1)}, {v(2)}, {v(3)})')
        if name in ('div', 'rem'):
            divided = result(f'{v(1)} {"/" if name == "div" else "%"} {v(2)}')
            if is_float:
                return divided
            return f'{{ if ({v(2)} == 0) emu::die("PTX: a division by zero"); {divided} }}'
        if name in ('min', 'max'):
            return result(f'std::{"f" if is_float else ""}{name}({v(1)}, {v(2)})')
        if name in FUNCTIONS:
            if not is_float:
                self.fail(text)
            return result(f'{FUNCTIONS[name]}({v(1)})')
        if name == 'rcp':
            return result(f'1 / {v(1)}')
        if name == 'popc':
            if kind != 'u32':
                self.fail(text)
            return result(f'u32(__builtin_popcount({v(1)}))')
        if name == 'bfi':
            place, count = v(3, 'u32'), v(4, 'u32')
            mask = f'shift_left<{kind}>(shift_left<{kind}>(1, {count}) - 1, {place})'
            inserted = f'shift_left<{kind}>({v(1)}, {place})'
            return result(f'{kind}(({inserted} & {mask}) | ({v(2)} & ~{mask}))')
        if name in ('shl', 'shr'):
            side = 'left' if name == 'shl' else 'right'
            return result(f'shift_{side}<{kind}>({v(1)}, {v(2, "u32")})')
        if name == 'setp':
            if len(arguments) != 3:
                self.fail(text)
            if parts[0] in COMPARISONS:
                return result(f'({v(1)} {COMPARISONS[parts[0]]} {v(2)})')
            return result(f'!({v(1)} {UNORDERED[parts[0]]} {v(2)})')
        if name == 'selp':
            return result(f'{v(3, "bool")} ? {v(1)} : {v(2)}')
        self.fail(text)


def offsets_of(kernel, text):
    """Returns the offset of each parameter and the size of all."""
    offsets, end = {}, 0
    for parameter in text.split(','):
        match = re.fullmatch(r'\.param(?: \.align (\d+))? \.(\w+) (\w+)(?:\[(\d+)\])?',
                             parameter.strip())
        if not match:
            raise SystemExit(f'ptx_to_cpp.py: {kernel}: does not know parameter {parameter}')
        align, kind, name, count = match.groups()
        size = SIZES[TYPES[kind]]
        align = int(align or size)
        offsets[name] = (end + align - 1) // align * align
        end = offsets[name] + size * int(count or 1)
    return offsets, end


def function_of(number, match, shared):
    """Returns the C++ function of a kernel and the size of its parameters."""
    name, parameters, directives, body = match.groups()
    offsets, size = offsets_of(name, parameters)
    local = re.findall(r'\.local \.align \d+ \.b8\s+(\w+)\[(\d+)\]', body)
    kernel = Kernel(name, offsets, size, local[0][0] if local else None, shared)
    if len(local) > 1:
        kernel.fail('several local memories')
    declared = [f'alignas(16) unsigned char {n}[{bytes}];' for n, bytes in local]
    for kind, stem, count in re.findall(r'\.reg \.(\w+)\s+%(\w+)<(\d+)>', body):
        names = ', '.join(f'r_{stem}{i} = 0' for i in range(int(count)))
        declared.append(f'{TYPES[kind]} {names};')
    for kind, stem in re.findall(r'\.reg \.(\w+)\s+%(\w+);', body):
        declared.append(f'{TYPES[kind]} r_{stem} = 0;')
    limit = re.search(r'\.maxntid (\d+)', directives)
    if limit:
        declared.append(f'if (blockDim.x > {limit.group(1)}) '
                        'emu::die("PTX: a block larger than __launch_bounds__");')
    body = re.sub(r'(?m)^\s*\.(reg|local|pragma)\b[^;]*;', '', body)
    for statement in re.split(r';|(?<=:)\s*\n', body):
        text = ' '.join(statement.split())
        while label := re.match(r'\$(\w+):\s*', text):
            kernel.lines.append(f'{label.group(1)}:;')
            text = text[label.end():]
        if text:
            kernel.translate(text)
    used = set(re.findall(r'\br_\w+', '\n'.join(kernel.lines)))
    if kernel.dropped & used:
        kernel.fail('the use of the old value of an atomic')
    lines = '\n  '.join(declared + kernel.lines)
    return (f'// {name}\nvoid kernel_{number}([[maybe_unused]] const unsigned char* parameters) '
            f'{{\n  {lines}\n}}\n', size)


def main():
    with open(sys.argv[1]) as file:
        text = re.sub(r'//[^\n]*', '', file.read())
    shared = set(re.findall(r'\.shared\s+\.align \d+\s+\.b8\s+(\w+)\[\]', text))
    entry = re.compile(r'\.visible \.entry (\w+)\((.*?)\)\s*((?:\.\w+[^\n]*\n)*)\{(.*?)\n\}', re.S)
    functions, table = [], []
    for number, match in enumerate(entry.finditer(text)):
        function, size = function_of(number, match, shared)
        functions.append(function)
        table.append(f'    {{"{match.group(1)}", {size}, &kernel_{number}}},\n')
    if len(table) != text.count('.entry ') or not table:
        raise SystemExit(f'ptx_to_cpp.py: read {len(table)} of {text.count(".entry ")} kernels')
    with open(sys.argv[2], 'w') as file:
        file.write('// Made by ptx_to_cpp.py.\n#include "ptx.hpp"\nnamespace {\n' +
                   '\n'.join(functions) + '}  // namespace\n'
                   'const emu::ptx::Kernel emu::ptx::kernels[] = {\n' + ''.join(table) +
                   '    {nullptr, 0, nullptr}};\n')


main()
