/** Bugs of claims and leases: which node may work on which row. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { dispatcher, leasedClaims, leaseHold, modeMark, newRowScan, relay, settler, soleClaims } from './files.ts'

/** See the file's comment. */
export const claimMutants: readonly PlantedBug[] = [
  {
    name: 'finish-without-fence',
    breaks: 'A row is finished even if another node holds it by now.',
    file: settler,
    find: "if (kind === 'DONE') return store.markDone(connection, rows, fence, { whenDone })",
    replace: "if (kind === 'DONE') return store.markDone(connection, rows, { kind: 'NONE' }, { whenDone })",
  },
  {
    name: 'lease-not-checked-before-the-listener',
    breaks: 'A row that waited longer than its lease is delivered.',
    file: dispatcher,
    find: 'if (row.isLost || !row.hold.mayStart(now) || !this.#deps.isModeOpen(now)) {',
    replace: 'if (row.isLost || !this.#deps.isModeOpen(now)) {',
  },
  {
    name: 'lease-counted-from-its-answer',
    breaks: 'The lease of a slow claim is counted from its response.',
    file: leasedClaims,
    find: 'return { rows, hold, isCut }\n  }\n\n  function inFlightUnder',
    replace: 'hold.renewed(clock.monotonic())\n    return { rows, hold, isCut }\n  }\n\n  function inFlightUnder',
  },
  {
    name: 'lease-lasts-for-ever',
    breaks: 'The holder of a lease relies on it after it has expired.',
    file: leaseHold,
    find: 'return this.#since + this.#timeoutMs - leaseMarginMs(this.#timeoutMs)',
    replace: 'return this.#since + 4 * this.#timeoutMs - leaseMarginMs(this.#timeoutMs)',
  },
  {
    name: 'floor-as-a-cursor',
    breaks: 'A row that is committed late is never read.',
    file: newRowScan,
    find: 'if (nowMs - this.#sweptAt >= this.#pauseOfSweeps) {',
    replace: 'if (this.#sweptAt === Number.NEGATIVE_INFINITY) {',
    also: [{ file: newRowScan, find: 'this.#sweptAt = Number.NEGATIVE_INFINITY\n  }', replace: '}' }],
  },
  {
    name: 'sole-lease-of-many',
    breaks: 'A node works on a table that another node owns alone.',
    file: soleClaims,
    find: 'if (taken === undefined) return false',
    replace: 'const taken = given ?? { shard: soleNodeShard, owner, version: 0n }',
    also: [{ file: soleClaims, find: 'const [taken] = await', replace: 'const [given] = await' }],
  },
  {
    name: 'sole-finish-without-fence',
    breaks: 'Finishes of a node that has lost its table are accepted.',
    file: settler,
    find: 'const { store, whenDone } = this.#deps',
    replace:
      "if (fence.kind === 'TABLE') return this.#mark(connection, { kind, fence: { kind: 'NONE' }, rows, outcomes })\n    const { store, whenDone } = this.#deps",
  },
  {
    name: 'mode-mark-not-checked',
    breaks: 'Rows written or read here are delivered while another mode owns the table.',
    file: relay,
    find: '|| !isModeOpen(runtime.clock.monotonic())',
    replace: '',
    also: [{ file: dispatcher, find: '|| !this.#deps.isModeOpen(now)', replace: '' }],
  },
  {
    name: 'mode-mark-lasts-for-ever',
    breaks: 'A node relies on the lease of its mode after it has expired.',
    file: modeMark,
    find: 'return nowMs < this.#endsAt',
    replace: 'return this.#takenAt > Number.NEGATIVE_INFINITY',
  },
  {
    name: 'sole-lease-kept-at-stop',
    breaks: 'A node that stops keeps its table.',
    file: soleClaims,
    find: 'await database.connection((connection) => store.releaseShards(connection, [lease]))',
    replace: 'if (lease.shard > 0) await database.connection((connection) => store.releaseShards(connection, [lease]))',
  },
  {
    name: 'refused-rows-forgotten',
    breaks: 'Claimed rows that do not fit in the queue stay in flight.',
    file: relay,
    find: "if (this.#dispatcher.enqueueCold(row)) return 'TAKEN'\n    this.#abandoned(row)",
    replace: "if (this.#dispatcher.enqueueCold(row)) return 'TAKEN'",
  },
]
