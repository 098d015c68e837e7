import { ArgumentError, type OperatorIdentity } from '@waybill/core'
import type { StoredOperation } from '@waybill/core/internal'
import type { OperationKind, OperationSession, RunBatch } from './operation-kind.ts'
import { singleLimits } from './operation-request.ts'

/** The progress of a rebuild, as far as operations know it. */
export interface OperatedRebuildStatus {
  readonly state: string
  readonly applied: number
  readonly remaining: bigint
}

/** A projection that operations rebuild: `createRebuild`. */
export interface OperatedProjection {
  readonly rebuild?:
    | {
        run(
          operator: OperatorIdentity,
          options?: { readonly signal?: AbortSignal },
        ): AsyncGenerator<OperatedRebuildStatus, OperatedRebuildStatus>
      }
    | undefined
}

/**
 * Creates the kind of rebuilds of projections. The rebuild keeps its own position in its database, so that any process
 * continues it, and a repeat applies nothing twice. A cancelled operation stops it where it is.
 */
export function createRebuildKind(projections: Readonly<Record<string, OperatedProjection>>): OperationKind {
  const find = (name: string): NonNullable<OperatedProjection['rebuild']> => {
    const found = Object.hasOwn(projections, name) ? projections[name]?.rebuild : undefined
    if (found === undefined) throw new ArgumentError(`Projection '${name}' cannot be rebuilt in this process.`)
    return found
  }
  return {
    type: 'PROJECTION_REBUILD',
    isIdempotent: true,
    isExclusive: false,
    async plan(given) {
      const { projection } = given as { readonly projection: string }
      find(projection)
      return { target: projection, request: { projection, ...singleLimits }, ranges: [], plan: {} }
    },
    async open({ request }: StoredOperation, operator): Promise<OperationSession> {
      return new RebuildSession(find((request as { readonly projection: string }).projection), operator)
    },
  }
}

/** Each status of the rebuild is a batch without an effect of its own. */
class RebuildSession implements OperationSession {
  readonly #leave = new AbortController()
  readonly #statuses: AsyncGenerator<OperatedRebuildStatus, OperatedRebuildStatus>
  #applied = 0

  constructor(rebuild: NonNullable<OperatedProjection['rebuild']>, operator: OperatorIdentity) {
    this.#statuses = rebuild.run(operator, { signal: this.#leave.signal })
  }

  async next(_maxCount: number, signal: AbortSignal): Promise<RunBatch | undefined> {
    const leave = (): void => this.#leave.abort()
    signal.addEventListener('abort', leave, { once: true })
    const { done, value } = await this.#statuses.next().finally(() => signal.removeEventListener('abort', leave))
    if (done === true) return undefined
    const scanned = Math.max(0, value.applied - this.#applied)
    this.#applied = value.applied
    const position = { state: value.state, remaining: String(value.remaining) }
    return { scanned, count: 0, intended: [], refused: [], remaining: [], position }
  }

  async apply(): Promise<never> {
    throw new ArgumentError('A rebuild applies its events itself.')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave.abort()
    await this.#statuses.return(undefined as never)
  }
}
