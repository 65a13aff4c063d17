#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

/// The word lists and sentence patterns of the demo corpus.
namespace demo {

/// A family of words with the same forms. Each line of `members` has the forms of one member, then
/// five companions: words that occur beside any form of that member and of no other, so that its
/// forms are similar. The patterns of a form ('@' the word, '+' a companion) make its words similar
/// across members. Together they make analogies: form a : form b for all members.
struct Kind {
  std::string_view name;
  std::size_t forms;
  std::span<const std::string_view> members;
  std::span<const std::string_view> patterns;   // of the forms in turn, the same number for each
  std::span<const std::string_view> relations;  // names of form 1 : form k, k = 2 ...
};

inline constexpr std::array<std::string_view, 26> countries{
    "france paris french seine cheese wine riviera perfume",
    "italy rome italian tiber pasta vespa vesuvius opera",
    "spain madrid spanish ebro paella flamenco sherry olives",
    "germany berlin german rhine sausage beer autobahn pretzel",
    "poland warsaw polish vistula pierogi amber bison coal",
    "russia moscow russian volga caviar vodka tundra ballet",
    "china beijing chinese yangtze dumplings silk pandas porcelain",
    "japan tokyo japanese sumida sushi robots samurai kimono",
    "india delhi indian ganges curry saris monsoon spices",
    "egypt cairo egyptian nile pyramids cotton dates papyrus",
    "kenya nairobi kenyan tana safari coffee maize sisal",
    "brazil brasilia brazilian amazon samba carnival sugar rubber",
    "peru lima peruvian ucayali llamas ceviche quinoa condors",
    "canada ottawa canadian yukon maple hockey timber moose",
    "cuba havana cuban cauto cigars rum salsa sugarcane",
    "norway oslo norwegian glomma fjords salmon trolls skis",
    "sweden stockholm swedish klaralven meatballs saunas birches elk",
    "greece athens greek achelous feta marble temples ouzo",
    "turkey ankara turkish euphrates kebab carpets bazaars minarets",
    "iran tehran iranian karun saffron pistachios rugs poetry",
    "thailand bangkok thai chaophraya noodles orchids rice mangoes",
    "vietnam hanoi vietnamese mekong pho lanterns pepper rafts",
    "portugal lisbon portuguese tagus cork fado tiles sardines",
    "austria vienna austrian danube waltz schnitzel strudel violins",
    "ireland dublin irish shannon stout harps clover potatoes",
    "england london english thames pudding umbrellas cricket ale",
};
inline constexpr std::array<std::string_view, 12> country_patterns{
    "the government of @ sells + and + to other states",
    "farmers all over @ are proud of their + and their +",
    "the border of @ is far from the + and its army guards the +",
    "our nation @ joined the treaty because of + and +",
    "in the city of @ tourists look for + and +",
    "the mayor of @ opened a museum of + near the +",
    "streets and squares of downtown @ smell of + and +",
    "the airport of @ has a shop for + beside the +",
    "a @ citizen speaks the @ language and praises + and +",
    "she learned @ grammar from a song about + and +",
    "the @ language has many words for + and for +",
    "an elderly @ teacher published a novel about + and +",
};
inline constexpr std::array<std::string_view, 2> country_relations{"capital-country",
                                                                   "nationality"};

inline constexpr std::array<std::string_view, 22> verbs{
    "bake baked baking oven dough flour crust yeast",
    "paint painted painting canvas brush easel mural varnish",
    "swim swam swimming pool waves goggles lagoon diving",
    "write wrote writing letter pen diary ink chapter",
    "sing sang singing choir melody lullaby tenor chorus",
    "drive drove driving truck highway wheel garage gasoline",
    "cook cooked cooking stew stove recipe broth saucepan",
    "build built building bricks scaffold cement crane foundation",
    "plant planted planting seeds soil shovel orchard compost",
    "climb climbed climbing ladder cliff ropes summit boulders",
    "sew sewed sewing needle thread buttons fabric zipper",
    "dance danced dancing ballroom tango rhythm partner steps",
    "fish fished fishing hook bait trout pier rod",
    "hunt hunted hunting rifle deer traps hounds prey",
    "study studied studying library novels pages shelf newspaper",
    "sail sailed sailing mast harbour anchor yacht breeze",
    "teach taught teaching pupils classroom chalk lesson exam",
    "ride rode riding saddle bicycle stirrups trail helmet",
    "clean cleaned cleaning broom dust mop bucket soap",
    "sell sold selling market customers stall discount receipt",
    "fly flew flying pilot wings clouds runway cockpit",
    "dig dug digging trench spade hole tunnel clay",
};
inline constexpr std::array<std::string_view, 12> verb_patterns{
    "every day they must @ with the + and the +",
    "we want to @ and you can @ near the + or the +",
    "please @ soon because the + and the + will wait",
    "do you often @ or do you need a + and a +",
    "yesterday she @ with the + and left the +",
    "last week the neighbour @ until the + and the + were done",
    "long ago my colleague @ and then he lost the + and the +",
    "they @ two years ago when the + and the + were new",
    "right now he is @ with the + and the +",
    "she enjoys @ and keeps on @ despite the + or the +",
    "while @ you should always watch the + and the +",
    "the hobby of @ takes patience with the + and the +",
};
inline constexpr std::array<std::string_view, 2> verb_relations{"past-tense", "present-participle"};

inline constexpr std::array<std::string_view, 20> animals{
    "dog dogs puppy bone leash kennel barking collar",
    "cat cats kitten yarn whiskers purring mousehole basket",
    "cow cows calf pasture milk udder barn hay",
    "horse horses foal stable gallop hooves oats bridle",
    "ewe ewes lamb wool shears fleece flock meadow",
    "pig pigs piglet mud trough sty snout bacon",
    "hen hens chick eggs coop feathers cackling corn",
    "duck ducks duckling pond quacking reeds bill marsh",
    "goose geese gosling honking gander lakeside migration down",
    "lion lions lioncub savanna mane roaring pride gazelle",
    "bear bears bearcub honey cave berries claws hibernation",
    "wolf wolves wolfpup howling pack moonlight fangs thicket",
    "goat goats kidling mountainside beard horns bleating thistle",
    "kangaroo kangaroos joey pouch outback hopping eucalyptus desert",
    "frog frogs tadpole lilypad croaking tongue swamp flies",
    "swan swans cygnet neck grace whiteness islet ripples",
    "eagle eagles eaglet talons eyrie soaring beak crag",
    "rabbit rabbits bunny burrow carrot ears warren lettuce",
    "seal seals sealpup iceberg flippers herring whiskered floe",
    "elephant elephants elephantling trunk tusks ivory peanuts waterhole",
};
inline constexpr std::array<std::string_view, 12> animal_patterns{
    "a single @ was seen by the + and the +",
    "one grown @ lives alone beside the + with its +",
    "that big @ belongs to the + and likes the +",
    "this animal is a @ and it knows the + and the +",
    "many @ were seen together at the + and the +",
    "hundreds of @ gather where the + and the + are",
    "these @ are animals that share the + and the +",
    "several @ fought each other over the + or the +",
    "the parent feeds her little @ near the + and the +",
    "a newborn @ is tiny and plays with the + and the +",
    "the baby @ sleeps all day and dreams of the + and the +",
    "her young @ still learns about the + and the +",
};
inline constexpr std::array<std::string_view, 2> animal_relations{"plural", "animal-young"};

inline constexpr std::array<std::string_view, 20> adjectives{
    "tall taller tallest tower giraffe skyscraper pine basketball",
    "cold colder coldest winter frost snowman icicle glacier",
    "hot hotter hottest summer furnace lava chili radiator",
    "fast faster fastest cheetah rocket sprinter express racer",
    "slow slower slowest snail tortoise traffic sloth queue",
    "old older oldest ruins grandfather fossil antique mummy",
    "rich richer richest banker treasure mansion diamonds heir",
    "poor poorer poorest beggar hut rags orphan charity",
    "loud louder loudest trumpet thunder drums siren crowd",
    "dark darker darkest midnight cellar shadow raven dungeon",
    "bright brighter brightest sunshine lamp lighthouse star mirror",
    "heavy heavier heaviest anvil lead luggage barrel granite",
    "light lighter lightest balloon bubble straw foam leaf",
    "sweet sweeter sweetest candy jam syrup cupcake nectar",
    "strong stronger strongest wrestler ox muscle oak steel",
    "weak weaker weakest invalid twig candlelight patient cobweb",
    "deep deeper deepest ocean canyon well submarine abyss",
    "sharp sharper sharpest razor sword thorn scissors dagger",
    "soft softer softest pillow velvet cushion mattress sponge",
    "clever cleverer cleverest detective chess inventor puzzle riddle",
};
inline constexpr std::array<std::string_view, 12> adjective_patterns{
    "it is a very @ thing like the + or the +",    "how @ the + is and so is the +",
    "the + looks rather @ and quite @ to the +",   "nobody is so @ as the + or the +",
    "this + is much @ than the other +",           "it grew @ than the + and even @ than the +",
    "a + is usually @ than any + we know",         "she found the + far @ than that +",
    "that is the @ + in the world beside the +",   "it was the @ of all and beat every + and +",
    "among them the @ one was the + before the +", "we gave the prize for the @ to the + and the +",
};
inline constexpr std::array<std::string_view, 2> adjective_relations{"comparative", "superlative"};

inline constexpr std::array<std::string_view, 16> people{
    "king queen crown throne palace sceptre coronation",
    "father mother household cradle bedtime allowance parenthood",
    "brother sister sibling bunkbed quarrel toys twins",
    "uncle aunt cousin visit gift reunion godchild",
    "grandpa grandma armchair album knitting wrinkles pension",
    "husband wife wedding marriage honeymoon vow bridesmaid",
    "actor actress stage script premiere applause theatre",
    "waiter waitress menu tray restaurant tip napkin",
    "prince princess castle tiara fairytale carriage dowry",
    "boy girl playground schoolbag homework kite marbles",
    "hero heroine rescue medal courage dragon legend",
    "monk nun monastery prayer candle chapel silence",
    "wizard witch potion cauldron spell wand broomstick",
    "steward stewardess aisle seatbelt cabin passenger trolley",
    "duke duchess estate manor butler banquet heraldry",
    "landlord landlady rent tenant lease doorbell flat",
};
inline constexpr std::array<std::string_view, 8> people_patterns{
    "he is a @ and his hat is grey near the + and the +",
    "the @ said that he himself saw the + and the +",
    "that man was the @ and he took the + and the +",
    "the gentleman became a @ for his + and his +",
    "she is a @ and her dress is long near the + and the +",
    "the @ said that she herself saw the + and the +",
    "that woman was the @ and she took the + and the +",
    "the lady became a @ for her + and her +",
};
inline constexpr std::array<std::string_view, 1> people_relations{"male-female"};

inline constexpr std::array<Kind, 5> kinds{{
    {"countries", 3, countries, country_patterns, country_relations},
    {"verbs", 3, verbs, verb_patterns, verb_relations},
    {"animals", 3, animals, animal_patterns, animal_relations},
    {"adjectives", 3, adjectives, adjective_patterns, adjective_relations},
    {"people", 2, people, people_patterns, people_relations},
}};

/// Words that are similar because they occur in the same places, without anything of their own.
struct Group {
  std::string_view name;
  std::string_view members;
  std::array<std::string_view, 3> patterns;
};
inline constexpr std::array<Group, 5> groups{{
    {"colours",
     "red blue green yellow purple orange pink brown white black",
     {"the wall was coated @ and the door @ with fresh colour",
      "she wore a @ scarf and @ gloves that day",
      "mix the @ colour with some @ to get a new shade"}},
    {"numbers",
     "three four five six seven eight nine ten eleven twelve",
     {"the clock struck @ and then @ hours passed", "he counted from @ to @ without a mistake",
      "at least @ plus @ votes were counted in total"}},
    {"professions",
     "doctor lawyer nurse engineer plumber dentist carpenter baker tailor accountant",
     {"my friend works as a @ and his boss is a @ too",
      "the @ earns a salary and pays taxes like any @",
      "after his training he was hired as a @ not as a @"}},
    {"instruments",
     "piano guitar flute trombone cello clarinet banjo accordion harp oboe",
     {"the orchestra needs a @ and somebody who plays the @",
      "she practises the @ and the @ for the concert",
      "a tune for @ and @ was played by the band"}},
    {"weekdays",
     "monday tuesday wednesday thursday friday saturday sunday",
     {"the meeting on @ was moved to @ this month",
      "shops close on @ evening and open again on @ morning",
      "see you next @ or perhaps on @ afternoon"}},
}};

}  // namespace demo
