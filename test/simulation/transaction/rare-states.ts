/** States in which bugs hide. A long run that never reaches one of them shows nothing about it. */
export const rareStates = [
  'kill: a transaction is open',
  'kill: a transaction is committed and its response is lost',
  'freeze: a transaction is open',
  'freeze: it outlasts the session',
  'group: a member is expelled in a transaction',
  'transaction: the answer to its end is lost',
  'transaction: it is aborted',
  'transaction: an owner is fenced',
  'transaction: offsets are refused, the group has changed hands',
  'transaction: it holds several records',
  'record: an output of a failed call is dropped',
  'record: it succeeds in its tier',
  'record: it is dead',
  'record: its output is refused',
  'record: its calls take too long',
  'send: its call is over',
  'stop: handlers run when it begins',
  'stop: a transaction is open when it begins',
  'pause: an operator pauses while a transaction is open',
  'pause: a paused process is given a partition',
  'move: of a paused binding',
  'move: it is refused',
  'move: records are due again',
  'move: records are passed over',
  'move: a record ahead is passed over',
  'retention: it deletes unread records',
  'retention: counting begins anew behind it',
] as const

/** One of the rare states. */
export type RareState = (typeof rareStates)[number]
