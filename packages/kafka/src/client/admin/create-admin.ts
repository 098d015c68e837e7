/** The {@link Admin} of a cluster's brokers. */

import type { Runtime } from '@waybill/core'
import type { Cluster } from '../cluster/cluster.ts'
import type { Nodes } from '../cluster/nodes.ts'
import type { Admin } from './admin.ts'
import { withCheckedArguments } from './admin-arguments.ts'
import { requireAllDone } from './admin-result.ts'
import { createGroupAdmin } from './group-admin.ts'
import { createOffsetAdmin } from './offset-admin.ts'
import { Rounds, type StartRounds } from './rounds.ts'
import { createTopicAdmin } from './topic-admin.ts'

/** Dependencies of an admin. */
export interface AdminParts {
  readonly cluster: Cluster
  /** Separate connections: an admin request must not wait behind a long poll. */
  readonly nodes: Nodes
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>
  /** Ends every wait between two requests. */
  readonly signal?: AbortSignal
}

/** Long enough for a coordinator to load or a broker to restart. */
const defaultDeadlineMs = 30_000
/** Half of that, so that a node that never answers leaves time for another. */
const requestTimeoutMs = 15_000

/**
 * Makes calls that change something reject unless all of it was done: a caller that ignores the results must not
 * continue as if it were. Calls that read return a result per item, since their results are always inspected.
 */
function rejecting(admin: Admin): Admin {
  return {
    ...admin,
    createTopics: async (...given) => requireAllDone('Creating topics', await admin.createTopics(...given)),
    deleteTopics: async (...given) => requireAllDone('Deleting topics', await admin.deleteTopics(...given)),
    createPartitions: async (...given) => requireAllDone('Adding partitions', await admin.createPartitions(...given)),
    alterConfigs: async (...given) => requireAllDone('Changing configs', await admin.alterConfigs(...given)),
    deleteRecords: async (...given) => requireAllDone('Deleting records', await admin.deleteRecords(...given)),
    alterGroupOffsets: async (...given) => requireAllDone('Setting offsets', await admin.alterGroupOffsets(...given)),
    deleteGroups: async (...given) => requireAllDone('Deleting groups', await admin.deleteGroups(...given)),
  }
}

/** Creates an {@link Admin}. */
export function createAdmin({ cluster, nodes, runtime, signal }: AdminParts): Admin {
  const start: StartRounds = ({ deadlineMs = defaultDeadlineMs } = {}) =>
    new Rounds(runtime, signal, requestTimeoutMs, deadlineMs)
  const admin = {
    ...createTopicAdmin(cluster, nodes, start),
    ...createOffsetAdmin(cluster, nodes, start),
    ...createGroupAdmin(cluster, nodes, start),
  }
  return withCheckedArguments(rejecting(admin))
}
