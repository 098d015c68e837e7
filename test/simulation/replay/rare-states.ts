/** States in which bugs hide. A long run that never reaches one of them shows nothing about it. */
export const rareStates = [
  'kill: a replay is under way',
  'kill: copies are confirmed and not committed',
  'freeze: a replay is under way',
  'replay: it is interrupted',
  'replay: it leaves something to others',
  'replay: two take turns',
  'copy: it is repeated',
  'skip: of another group',
  'skip: replayed too often',
  'skip: damaged',
  'schedule: a dead letter is younger than the cooldown',
  'letter: it comes while others are replayed',
] as const

/** One of the rare states. */
export type RareState = (typeof rareStates)[number]
