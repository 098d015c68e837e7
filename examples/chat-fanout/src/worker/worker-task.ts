import type { ChatTopics } from '../topology.ts'
import type { WorkerCounts } from './worker.ts'

/** The task of a worker in a process of its own. */
export interface WorkerTask {
  readonly name: string
  readonly kafka: string
  readonly postgres: string
  readonly schema: string
  readonly redis: string
  readonly prefix: string
  readonly topics: ChatTopics
  readonly groupId: string
}

/** A message of the process: its address once, and its numbers each time it is asked for them. */
export type WorkerMessage =
  | { readonly kind: 'listening'; readonly url: string }
  | ({ readonly kind: 'counts' } & WorkerCounts)
