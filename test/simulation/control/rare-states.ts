/** States in which bugs hide. A long run that never reaches one of them shows nothing about it. */
export const rareStates = [
  'start: it obeys a pause or a stop',
  'start: it waits for the log',
  'command: its outcome is unknown',
  'command: the log cannot be read',
  'command: all refuse it',
  'command: some refuse it',
  'command: two are on their way at once',
  'answer: an instance has none',
  'instance: it obeys what it missed',
  'instance: it returns to its groups alone',
  'positions: they are moved',
  'positions: an instance is not away',
  'twin: both apply a command',
  'log: it is compacted',
  'log: an old command is deleted',
  'submitter: it dies before its answers',
] as const

/** One of the rare states. */
export type RareState = (typeof rareStates)[number]
