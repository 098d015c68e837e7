/** States in which bugs hide. A long run that never reaches one of them shows nothing about it. */
export const rareStates = [
  'crash: before COMMIT',
  'crash: after COMMIT',
  'consumers: they are in a transaction at once',
  'batch: it is repeated as a whole',
  'gap: it quarantines a key',
  'gap: the first event of a key is missing',
  'gap: its key is released',
  'ledger: events of a key are in several partitions',
  'rebuild: a former table is built on',
  'positions: the group has committed more than the database',
  'rebuild: it switches',
  'rebuild: it switches while events arrive',
  'rebuild: it is killed',
  'rebuild: a step takes longer than a lease',
] as const

/** One of the rare states. */
export type RareState = (typeof rareStates)[number]
