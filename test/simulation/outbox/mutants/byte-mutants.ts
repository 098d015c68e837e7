/** Bugs of the bound of bytes in memory. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { inFlight, knownRows, readBudget, readPlan, relay, shardReader } from './files.ts'

/** See the file's comment. */
export const byteMutants: readonly PlantedBug[] = [
  {
    name: 'read-as-large-as-the-bound',
    breaks: 'One read may fill the whole memory.',
    file: readBudget,
    find: 'const readsPerBound = 8',
    replace: 'const readsPerBound = 1',
  },
  {
    name: 'poller-reads-into-full-memory',
    breaks: 'The poller reads while the bound of bytes is reached.',
    file: relay,
    find: 'availableCapacity: () => (this.#hasByteRoom ? this.#dispatcher.coldQueueRemainingCapacity : 0)',
    replace: 'availableCapacity: () => this.#dispatcher.coldQueueRemainingCapacity',
  },
  {
    name: 'hot-bytes-not-counted',
    breaks: 'Transactions reserve places in memory however large their events are.',
    file: relay,
    find: 'if (!this.#hasHotRoom(sizes) || !this',
    replace: 'if (!this',
  },
  {
    name: 'bytes-kept-after-release',
    breaks: 'An event that is delivered still counts, until nothing more is read.',
    file: inFlight,
    find: 'this.#bytes[place.lane] -= place.bytes',
    replace: '',
  },
  {
    name: 'shards-read-into-full-memory',
    breaks: 'Shards are read while the bound of bytes is reached.',
    file: readPlan,
    find: 'const isOutOfBytes = bufferedBytes >= maxBufferedBytes',
    replace: 'const isOutOfBytes = bufferedBytes < 0',
  },
  {
    name: 'probes-read-into-full-memory',
    breaks: 'Rows that probe destinations are read while the bound of bytes is reached.',
    file: shardReader,
    find: 'if (!this.#isFull) await this.#probes.read()',
    replace: 'await this.#probes.read()',
  },
  {
    name: 'bytes-of-a-shard-kept',
    breaks: 'A row that left the memory of its shard still counts, until nothing more is read.',
    file: knownRows,
    find: 'this.#bytes -= this.#bytesBySeq.get(seq) ?? 0',
    replace: '',
  },
]
