/** Bugs of claims and leases: who may work on which row. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { dispatcher, leasedClaims, leaseHold, newRowScan, relay, settler, soleClaims } from './files.ts'

/** See the file's comment. */
export const claimMutants: readonly PlantedBug[] = [
  {
    name: 'finish-without-fence',
    breaks: 'A row is finished whoever holds it by now.',
    file: settler,
    find: "if (kind === 'DONE') return store.markDone(connection, seqs, fence, { whenDone })",
    replace: "if (kind === 'DONE') return store.markDone(connection, seqs, { kind: 'NONE' }, { whenDone })",
  },
  {
    name: 'lease-not-checked-before-the-listener',
    breaks: 'A row that waited longer than its lease is delivered.',
    file: dispatcher,
    find: 'if (row.isLost || !row.hold.mayStart(this.#deps.clock.monotonic())) {',
    replace: 'if (row.isLost) {',
  },
  {
    name: 'lease-counted-from-its-answer',
    breaks: 'A slow claim is believed to be young.',
    file: leasedClaims,
    find: 'return { rows, hold }\n  }\n\n  function inFlightUnder',
    replace: 'hold.renewed(clock.monotonic())\n    return { rows, hold }\n  }\n\n  function inFlightUnder',
  },
  {
    name: 'lease-lasts-for-ever',
    breaks: 'The holder of a lease believes in it after its time.',
    file: leaseHold,
    find: 'return nowMs - this.#since < this.#timeoutMs - leaseMarginMs(this.#timeoutMs)',
    replace: 'return nowMs - this.#since < 4 * this.#timeoutMs - leaseMarginMs(this.#timeoutMs)',
  },
  {
    name: 'floor-as-a-cursor',
    breaks: 'A row that is committed late is never read.',
    file: newRowScan,
    find: 'if (nowMs - this.#sweptAt >= this.#sweepEveryMs) {',
    replace: 'if (this.#sweptAt === Number.NEGATIVE_INFINITY) {',
    also: [{ file: newRowScan, find: 'this.#sweptAt = Number.NEGATIVE_INFINITY\n  }', replace: '}' }],
  },
  {
    name: 'sole-lease-of-many',
    breaks: 'A node works on a table that another has to itself.',
    file: soleClaims,
    find: 'if (taken === undefined) return false',
    replace:
      'if (taken === undefined) return ((lease = { shard: soleNodeShard, owner, version: 0n }), (heldSince = sentAt), true)',
  },
  {
    name: 'sole-lease-kept-at-stop',
    breaks: 'A node that stops keeps its table.',
    file: soleClaims,
    find: 'await database.connection((connection) => store.releaseShards(connection, [held]))',
    replace: 'if (held.shard > 0) await database.connection((connection) => store.releaseShards(connection, [held]))',
  },
  {
    name: 'refused-rows-forgotten',
    breaks: 'Claimed rows that find no room stay in flight.',
    file: relay,
    find: "if (this.#dispatcher.enqueueCold(row)) return 'TAKEN'\n    this.#abandoned(row)",
    replace: "if (this.#dispatcher.enqueueCold(row)) return 'TAKEN'",
  },
]
