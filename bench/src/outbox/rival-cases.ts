/** The comparisons with outboxes and job queues on Node. */

import type { RivalName } from './rivals/rival-participant.ts'

/** One comparison. The first `warm` events are not counted. */
export interface RivalCase {
  readonly name: string
  readonly warm: number
  readonly count: number
  readonly rivals: readonly RivalName[]
}

export const rivalCases: readonly RivalCase[] = [
  { name: 'peers, DELETE', warm: 30_000, count: 30_000, rivals: ['graphile-worker', 'pg-boss'] },
  { name: 'peers, DELETE, few events', warm: 100, count: 500, rivals: ['pg-transactional-outbox'] },
]
