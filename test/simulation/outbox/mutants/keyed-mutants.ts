/** Bugs of the order of keys, and of shards and their leases. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { heldKeys, keyedDispatcher, settledNumbers, shardLeases, shardQueue, shardReader, shardRows } from './files.ts'

/** See the file's comment. */
export const keyedMutants: readonly PlantedBug[] = [
  {
    name: 'failed-row-overtaken',
    breaks: 'A row that failed is overtaken by the next one of its key.',
    file: shardQueue,
    find: "if (outcome.kind === 'RETRY')\n",
    replace: "if (outcome.kind === 'RETRY' && row.key === null)\n",
  },
  {
    name: 'dead-key-not-blocked',
    breaks: 'A dead row is passed where it is to block its key.',
    file: shardQueue,
    find: "else if (outcome.kind === 'DEAD' && this.#rules.onDeadKey === 'BLOCK')",
    replace: "else if (outcome.kind === 'DEAD' && this.#rules.onDeadKey !== this.#rules.onDeadKey)",
  },
  {
    name: 'dead-keys-not-looked-for',
    breaks: 'A new owner does not know of the keys that are blocked.',
    file: shardQueue,
    find: "this.isBlind = rules.onDeadKey === 'BLOCK'",
    replace: 'this.isBlind = false',
    also: [{ file: shardQueue, find: 'for (const { key, seq } of dead) this.#holdDead(key, seq, scan)', replace: '' }],
  },
  {
    name: 'one-key-twice-at-a-time',
    breaks: 'The next row of a key starts while one of it runs.',
    file: shardRows,
    find: 'if (!chain.isRunning) this.#ready.add(chain)',
    replace: 'this.#ready.add(chain)',
  },
  {
    name: 'read-shows-the-past',
    breaks: 'A row that was finished while its shard was read is delivered again.',
    file: shardRows,
    find: 'if (this.#known.delete(seq) && this.#floor.isReading) this.#forgottenDuringRead.add(seq)',
    replace: 'this.#known.delete(seq)',
  },
  {
    name: 'unconfirmed-retry-read',
    breaks: 'A row whose retry is not written yet is read as it was before.',
    file: heldKeys,
    find: 'if (held.dueAt <= now && !held.isUnconfirmed) return true',
    replace: 'if (held.dueAt <= now) return true',
  },
  {
    name: 'held-rows-stay-in-memory',
    breaks: 'The rows behind one that failed stay in memory and run.',
    file: shardQueue,
    find: 'this.#rows.drop(keyText(row.key))\n    this.#hold(row.key, row.seq, why)',
    replace:
      'const chain = this.#rows.chainOf(row.keyText)\n    if (chain?.isEmpty === false) this.#rows.advance(chain)\n    this.#hold(row.key, row.seq, why)',
  },
  {
    name: 'shard-lease-not-checked',
    breaks: 'Rows of a shard are delivered after its lease.',
    file: keyedDispatcher,
    find: 'if (!this.#deps.leases.holds(queue.lease)) continue',
    replace: '',
    also: [
      {
        file: shardLeases,
        find: 'if (held.until <= now) this.#lose(held)',
        replace: 'if (held.until <= now - 60_000) this.#lose(held)',
      },
    ],
  },
  {
    name: 'lost-shard-goes-on',
    breaks: 'The former owner of a lost shard continues to deliver it.',
    file: shardLeases,
    find: 'this.#handler.lost(lease)',
    replace: 'void lease',
    also: [
      {
        file: keyedDispatcher,
        find: 'if (!this.#deps.leases.holds(queue.lease)) continue',
        replace: '',
      },
    ],
  },
  {
    name: 'shard-given-back-too-early',
    breaks: 'A shard is released while a listener works on it.',
    file: shardLeases,
    find: 'await this.#handler.drain(lease)',
    replace: 'void this.#handler.drain(lease)',
  },
  {
    name: 'shard-floor-as-a-cursor',
    breaks: 'A row of a shard that is committed late is never read.',
    file: shardReader,
    find: 'if (now - queue.sweptAt >= this.#sweepIntervalOf(queue))',
    replace: 'if (queue.sweptAt === Number.NEGATIVE_INFINITY && 0 <= this.#sweepIntervalOf(queue))',
  },
  {
    name: 'nothing-looked-for-below-the-floor',
    breaks: 'A row that is committed late is overtaken by the next one of its key.',
    file: shardQueue,
    find: 'if (unsure === undefined) return undefined',
    replace: 'if (unsure === undefined || unsure.upTo > 0n) return undefined',
    also: [{ file: shardReader, find: 'queue.isBehind) queue.catchUp()', replace: 'queue.isBehind) void queue' }],
  },
  {
    name: 'earlier-row-found-and-passed',
    breaks: 'A row below the floor is found, and rows of its key that were read before it start anyway.',
    file: shardQueue,
    find: 'if (!this.#isClosed && (earlier === undefined || row.key === null)) this.#place(row, now)',
    replace: 'if (!this.#isClosed) this.#place(row, now)',
  },
  {
    name: 'numbers-settled-too-early',
    breaks: 'Numbers of transactions that are open are taken for settled.',
    file: settledNumbers,
    find: 'if (writers.size === 0) {',
    replace: 'if (writers.size >= 0) {',
  },
  {
    name: 'held-key-forgotten',
    breaks: 'The position from which to reread a key is forgotten when it is due.',
    file: shardQueue,
    find: 'if (!this.#floor.isReading) this.#readAgain(this.#held.releaseDue(now))',
    replace: 'if (!this.#floor.isReading) this.#held.releaseDue(now)',
    also: [
      {
        file: shardReader,
        find: 'if (now - queue.sweptAt >= this.#sweepIntervalOf(queue))',
        replace: 'if (queue.sweptAt === Number.NEGATIVE_INFINITY && 0 <= this.#sweepIntervalOf(queue))',
      },
    ],
  },
  {
    name: 'shard-fence-left-out',
    breaks: 'Finishes of a former owner of a shard are accepted.',
    file: keyedDispatcher,
    find: 'queue.signal.aborted ? queue.ownFence : leases.fence()',
    replace: "{ kind: 'NONE' }",
  },
]
