/** States in which bugs hide. A long run that never reaches one of them shows nothing about it. */
export const rareStates = [
  'kill: a batch is intended',
  'kill: a batch is sent',
  'kill: a batch is settled',
  'freeze: an operation runs',
  'stop: an operation runs',
  'store: a call is refused',
  'store: an answer is lost',
  'lease: the write of a former runner changes nothing',
  'takeover: a batch is unsettled',
  'takeover: nothing is unsettled',
  'copy: it is repeated',
  'copy: its outcome is unknown',
  'operation: it is paused',
  'operation: its canary pauses it',
  'operation: it is cancelled',
  'operation: another one runs on the same dead letters',
  'letter: it comes after the operation',
] as const

/** One of the rare states. */
export type RareState = (typeof rareStates)[number]
