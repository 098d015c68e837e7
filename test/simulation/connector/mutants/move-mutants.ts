/** Bugs of operators' position commands. */

import type { PlantedBug } from '../../world/recorded-seeds.ts'
import { connector } from './files.ts'

const moveLedger = `${connector}/positions/move-ledger.ts`

/** See the file's comment. */
export const moveMutants: readonly PlantedBug[] = [
  {
    name: 'passed-over-and-not-counted',
    breaks: 'A position moves forward over records without counting them as skipped.',
    file: moveLedger,
    find: 'skipped: state.counts.skipped + skipped }',
    replace: 'skipped: state.counts.skipped }',
  },
  {
    name: 'skip-takes-what-lies-before-it',
    breaks: 'Skipping a record also skips all records before it.',
    file: moveLedger,
    find: '  const skipped = BigInt(offsets.length)\n  return { state: skipping(state, state.position, ahead, skipped)',
    replace:
      '  const to = (offsets.at(-1) as bigint) + 1n\n  const skipped = to - state.position - BigInt(ahead.filter((offset) => offset < to).length - offsets.length)\n  return { state: skipping(state, to, ahead, skipped)',
  },
  {
    name: 'moved-while-records-wait',
    breaks: 'A position is moved although copies in the waiting topic depend on it.',
    file: `${connector}/positions/plan-position.ts`,
    find: 'return waitingRefusal(at) ?? (',
    replace: 'return (',
  },
  {
    name: 'paused-binding-goes-on-after-a-move',
    breaks: 'A paused binding that left its groups for a move comes back running.',
    file: `${connector}/run/registered-binding.ts`,
    find: 'await this.#begin(signal, [...this.#pausedBy])',
    replace: 'await this.#begin(signal, [])',
  },
  {
    name: 'moved-and-not-written-down',
    breaks: 'A position is moved before the audit log says who asked for it.',
    file: 'packages/core/src/audit/audited-operations.ts',
    find: "      await this.#log.write(this.#entry(id, asked, 'ASKED', undefined))\n",
    replace: '',
  },
  {
    name: 'time-taken-for-the-next-record',
    breaks: 'A seek to a timestamp goes one record too far.',
    file: `${connector}/positions/resolve-moves.ts`,
    find: '  return new Map([...ends, ...(await offsetsAt(admin, partitions, to))])\n',
    replace:
      '  const late = [...(await offsetsAt(admin, partitions, to))].map(([partition, offset]) => [partition, offset + 1n] as const)\n  return new Map([...ends, ...late])\n',
  },
]
