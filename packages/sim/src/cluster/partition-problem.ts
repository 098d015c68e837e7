/** Why a node does not serve a request for a partition; null when it does. */

import { errorCode } from '@waybill/kafka/wire'
import type { Partition } from './topic-table.ts'

/** Only the leader serves, and only what exists. */
export function leaderProblem(partition: Partition | undefined, node: number): number | null {
  if (partition === undefined) return errorCode.UNKNOWN_TOPIC_OR_PARTITION
  return partition.leader === node ? null : errorCode.NOT_LEADER_OR_FOLLOWER
}

/** Refuses a request with another leader epoch; -1 means the client knows none. */
export function epochProblem({ leaderEpoch }: Partition, known: number): number | null {
  if (known < 0 || known === leaderEpoch) return null
  return known < leaderEpoch ? errorCode.FENCED_LEADER_EPOCH : errorCode.UNKNOWN_LEADER_EPOCH
}
