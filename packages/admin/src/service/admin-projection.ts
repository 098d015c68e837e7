import type { OperatorIdentity } from '@waybill/core'
import type { ProjectionStore, QuarantinedKey } from '@waybill/core/internal'

/** The progress of a rebuild. */
export interface RebuildProgress {
  readonly build: number
  readonly state: string
  /** Events that this process has applied. */
  readonly applied: number
  readonly remaining: bigint
  readonly quarantined: number
  readonly reason: string | null
}

/** The parts of a projection that the API reads and rebuilds. */
export interface AdminProjection {
  readonly projection: { readonly name: string; readonly revision: number }
  /** The store of its projector. */
  readonly store: Pick<ProjectionStore, 'builds' | 'positions' | 'countQuarantined'>
  /** `createQuarantine`. @defaultValue its keys are not listed */
  readonly quarantine?: {
    list(
      page: { readonly after?: string; readonly limit?: number },
      operator: OperatorIdentity,
    ): Promise<readonly QuarantinedKey[]>
  }
  /** `createRebuild`. @defaultValue it cannot be rebuilt over REST */
  readonly rebuild?: {
    run(
      operator: OperatorIdentity,
      options?: { readonly signal?: AbortSignal },
    ): AsyncGenerator<RebuildProgress, RebuildProgress>
  }
  /** The key of the binding that feeds it, for its lag. @defaultValue no lag is shown */
  readonly binding?: string
}
