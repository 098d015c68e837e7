/** Texts of the help sheet. */
export const helpText = {
  title: 'Help',
  keys: 'Keys',
  off: 'Keys are switched off. Switch them on at "You".',
  terms: [
    ['Binding', 'A topic, a consumer group and a handler.'],
    ['Tier', 'A retry topic. A failed record waits there, and its handler runs again.'],
    ['Dead letter', 'A record that failed in every tier, or that cannot succeed. It waits for an operator.'],
    ['Breaker', 'While it is OPEN, no handler starts: what it depends on seems to be away.'],
    ['Lag', 'Records of the source that have no outcome yet.'],
    ['Operation', 'Work on many records: planned first, then run with a rate. It can be paused and cancelled.'],
    ['Canary', 'The first few records of an operation. Their outcome decides whether the others follow.'],
  ],
} as const
