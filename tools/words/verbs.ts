// The verbs that titles of tests are written with, in their base form; a new one is added here.
const VERBS =
  `abort accept add admit adopt allow answer appear apply ask attach audit authenticate authorize back become begin block
  bound break build bring buffer call carry cause change charge check choose claim clean clear close come compare compile
  complete compute confirm conform connect consume contain continue convert copy count cost cover create cut damage decide
  decode default delay delegate delete deliver deny depend describe detect differ disable distinguish do double drop end
  enforce ensure evaluate examine exclude exit expect expire explain expose fail fall fill find finish fire fit flow follow
  forbid forget format forward free garbage get give go grant group grow guard hand happen heal hear hide hold identify
  ignore impersonate import include index inherit install interrupt invent issue judge keep know last lead learn leave let
  limit list listen live load log look lose lower make mark match mean measure merge miss move name need negotiate observe omit
  open outlive overflow overlap override own parse pass patch pause point prevent print prolong protect prove publish put
  queue quote raise rate reach read reauthenticate receive recover redact redirect reduce refer refuse reject release relist rely remain
  remember remove rename renew reopen repeat replace reply report request requeue require resist resolve respond restart
  restore resume resync retain retry return reuse reveal revert revoke rewrite roll rotate round run satisfy save say scale
  see select send serve set share show shrink shut sign skip slide slow sort spare split spread stand start state stay stop
  store stream survive swap sweep sync take tell terminate test time trace translate treat trust try unpublish update
  upgrade use verify wait wake warn watch withdraw work write yield`.split(/\s+/)

const thirdPerson = (verb: string): string =>
  /(?:s|x|z|ch|sh|o)$/.test(verb) ? `${verb}es` : verb.replace(/([^aeiou])y$/, '$1ie') + 's'

/** The third person singular of each. */
export const THIRD_PERSON: ReadonlySet<string> = new Set(VERBS.map(thirdPerson))

/** The plural of each, which is its base form. */
export const PLURAL: ReadonlySet<string> = new Set(VERBS)

/** Forms of be, have and do, and the modal verbs. */
export const AUXILIARY: ReadonlySet<string> = new Set(
  `is are was were isn't aren't has have had hasn't haven't does do did doesn't don't can cannot can't may must will would
  should need needn't`.split(/\s+/),
)

/** Third persons that are plural nouns, too: `a list of names`. */
export const ALSO_NOUNS: ReadonlySet<string> = new Set(
  `answers backs bounds breaks calls changes charges checks checks claims copies counts costs covers creates defaults delays ends
  exits finds fires fits flows forwards grants groups guards hands holds imports indexes issues lasts leads limits lists
  loads logs looks makes marks matches means measures moves names needs opens orders owns passes patches points prints queues
  quotes rates reads releases replies reports requests restarts restores results returns rolls rounds runs scales sets
  shares shows signs sorts starts states stays stops stores streams sweeps syncs takes tests times traces tries updates
  upgrades uses waits warns watches works writes`.split(/\s+/),
)
