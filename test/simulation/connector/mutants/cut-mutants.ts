/** Bugs of logs that an unclean election cut. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { laneWorker, partitionShell } from './files.ts'

const client = 'packages/kafka/src/client'

/** See the file's comment. */
export const cutMutants: readonly PlantedBug[] = [
  {
    name: 'cut-log-read-on',
    breaks: 'A log that was cut is read on at the old position.',
    file: `${client}/fetch/fetcher.ts`,
    find: '    if (shared.endOffset < feed.position) return this.#outOfRange(feed, shared)\n',
    replace: '',
  },
  {
    name: 'epoch-not-committed',
    breaks: 'The next owner of a log that was cut begins at a position that was committed before.',
    file: `${client}/cluster/by-topic.ts`,
    find: 'committedLeaderEpoch: leaderEpochOf(commit),',
    replace: 'committedLeaderEpoch: -1,',
  },
  {
    name: 'cut-log-keeps-its-ledger',
    breaks: 'What was settled of a log that was cut counts for the records that have its offsets.',
    file: laneWorker,
    find: '    if (from === undefined) return\n    this.#shell.cut()\n',
    replace: '    if (from === undefined || from >= 0n) return\n',
  },
  {
    name: 'result-from-before-a-cut',
    breaks: 'A handler that began before a log was cut settles the record that has its offset now.',
    file: partitionShell,
    find: 'return slice.era === this.#era',
    replace: 'return slice.era <= this.#era',
  },
  {
    name: 'cut-not-committed',
    breaks: 'The committed offset stays past the end of a log that was cut.',
    file: laneWorker,
    find: '    this.#account.repeat() // The committed',
    replace: '    // The committed',
  },
]
