/** What the outbox is measured at on PostgreSQL, and beside what. */

import type { DrainContestant } from './participant.ts'

/** One comparison of drains: ours beside the reference, and beside the statements of its own design by hand. */
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
