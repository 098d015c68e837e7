/** The comparisons of the outbox on PostgreSQL. */

import type { DrainContestant } from './participant.ts'

/** One comparison of drains: the outbox beside the reference, and beside hand-written statements of its own design. */
export interface DrainCase {
  readonly name: string
  readonly ours: DrainContestant
  readonly ownDesign: DrainContestant
}

export const reference: DrainContestant = { kind: 'RAW', design: 'reference' }

export const drainCases: readonly DrainCase[] = [
  {
    name: 'cold drain, KEEP',
    ours: { kind: 'COLD', mode: 'multiNode', whenDone: 'KEEP' },
    ownDesign: { kind: 'RAW', design: 'claimKeep' },
  },
  {
    name: 'cold drain, DELETE',
    ours: { kind: 'COLD', mode: 'multiNode', whenDone: 'DELETE' },
    ownDesign: { kind: 'RAW', design: 'claimDelete' },
  },
  {
    name: 'hot path, KEEP',
    ours: { kind: 'HOT', whenDone: 'KEEP' },
    ownDesign: { kind: 'RAW', design: 'hotKeep' },
  },
  {
    name: 'hot path, DELETE',
    ours: { kind: 'HOT', whenDone: 'DELETE' },
    ownDesign: { kind: 'RAW', design: 'hotDelete' },
  },
  {
    name: 'keyed, KEEP',
    ours: { kind: 'COLD', mode: 'keyed', whenDone: 'KEEP' },
    ownDesign: { kind: 'RAW', design: 'keyedKeep' },
  },
  {
    name: 'keyed, DELETE',
    ours: { kind: 'COLD', mode: 'keyed', whenDone: 'DELETE' },
    ownDesign: { kind: 'RAW', design: 'keyedDelete' },
  },
]
