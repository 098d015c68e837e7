import type { Page, PageQuery } from '../page.ts'
import type {
  ErrorText,
  LogRange,
  NewOperation,
  OperationItem,
  OperationPause,
  OperationProgress,
  OperationState,
  OperationType,
  OperationWish,
  ReplayOutcomes,
  StoredOperation,
} from './operation.ts'

/** Which operations to list. Absent members select all. */
export interface OperationQuery {
  readonly states?: readonly OperationState[] | undefined
  readonly types?: readonly OperationType[] | undefined
  readonly by?: string | undefined
  readonly target?: string | undefined
}

/** The right to run an operation. A later lease of the same operation ends it (I6). */
export interface OperationLease {
  readonly id: string
  readonly owner: string
  readonly version: bigint
}

/** An operation that was taken to be run. */
export interface TakenOperation {
  readonly lease: OperationLease
  readonly operation: StoredOperation
  /** Whether the runner before disappeared, instead of releasing its lease. */
  readonly isTakeover: boolean
  /** Batches that the runner before intended and did not settle: their records may have taken effect. */
  readonly intended: readonly LogRange[]
}

/** Orders of operators, which the runner reads with each write. */
export interface OperationOrders {
  readonly wish: 'PAUSE' | 'CANCEL' | undefined
  readonly rate: number
}

/** The end of a run. */
export type OperationEnd =
  | { readonly state: 'DONE' | 'CANCELLED' }
  | { readonly state: 'PAUSED'; readonly pausedBy: OperationPause }
  | { readonly state: 'FAILED'; readonly error: ErrorText }

/**
 * Durable operations. Time is the store's. Each write of a runner names its lease; after another instance took the
 * operation, the write changes nothing and returns undefined or false.
 *
 *     take ─▶ [ intend ─▶ effect, confirmed ─▶ settle ]* ─▶ finish
 */
export interface OperationStore {
  /** False: operations end with this process. */
  readonly isDurable: boolean
  /** Stores an operation. With a known idempotency key of the same operator it returns the one that has the key. */
  create(operation: NewOperation): Promise<StoredOperation>
  get(id: string): Promise<StoredOperation | undefined>
  /** Lists operations, newest first. */
  list(query: OperationQuery, page: PageQuery): Promise<Page<StoredOperation>>
  /**
   * Leases a RUNNING operation that has no lease or an expired one, oldest first; undefined if there is none.
   * @param types - the types that the caller can run
   */
  take(owner: string, types: readonly OperationType[], leaseMs: number): Promise<TakenOperation | undefined>
  renew(lease: OperationLease, leaseMs: number): Promise<OperationOrders | undefined>
  /** Ends the lease, so that another instance can continue at once. Requires that nothing is intended and unsettled. */
  release(lease: OperationLease): Promise<void>
  /**
   * Records the records that are about to take effect, in place of those intended before. A new runner settles what its
   * predecessor intended before it intends anything.
   */
  intend(lease: OperationLease, batch: readonly LogRange[]): Promise<OperationOrders | undefined>
  /**
   * Replaces the progress, records items, and settles everything intended. At most 10,000 items are kept. A repeat changes
   * nothing.
   */
  settle(
    lease: OperationLease,
    progress: OperationProgress,
    items: readonly OperationItem[],
  ): Promise<OperationOrders | undefined>
  /** Records why the operation does not advance at present; undefined: it advances again. */
  setTrouble(lease: OperationLease, trouble: ErrorText | undefined): Promise<boolean>
  finish(lease: OperationLease, end: OperationEnd): Promise<boolean>
  /**
   * Asks for a transition. Without a live lease it happens at once; otherwise PAUSE and CANCEL wait for the runner.
   * @throws OperationStateError if the state does not allow it
   * @returns undefined if there is no such operation
   */
  wish(id: string, wish: OperationWish): Promise<StoredOperation | undefined>
  /**
   * Changes the records per second of an operation that is not final.
   * @throws OperationStateError
   */
  setRate(id: string, rate: number): Promise<StoredOperation | undefined>
  items(id: string, outcome: OperationItem['outcome'] | undefined, page: PageQuery): Promise<Page<OperationItem>>
  /** Replaces the counts of one instance, absolute since that instance started: a repeat changes nothing. */
  tally(id: string, instance: string, counts: ReplayOutcomes): Promise<void>
  /** Cancels PLANNED operations that expired, and deletes final ones that ended before; returns the number deleted. */
  purge(olderThanMs: number, limit: number): Promise<number>
}
