import type { DatabaseAddress } from '../../outbox/support/open-database.ts'

/** The task of a process: to feed the read model, or to rebuild it. */
export interface ProjectionTask {
  readonly does: 'PROJECT' | 'REBUILD'
  readonly brokers: readonly string[]
  readonly topic: string
  readonly groupId: string
  readonly database: DatabaseAddress
  /** The revisions that it knows, the newest first. */
  readonly revisions: readonly number[]
  /** The largest batch of the live binding. @defaultValue that of a projection */
  readonly maxPollRecords?: number | undefined
  /** Kills itself at that failpoint, once so many batches were handled. */
  readonly killAt?: { readonly point: string; readonly batches: number } | undefined
}

/** Its messages. */
export type ProjectionMessage =
  | { readonly kind: 'RUNNING' }
  | { readonly kind: 'BUILT'; readonly state: string; readonly applied: number; readonly remaining: number }
