import type { OperatorIdentity } from '@waybill/core'
import { AuditedOperations, createMemoryOperationStore, type OperationStore } from '@waybill/core/internal'
import type { ResolvedAdminOptions } from './admin-options.ts'
import { TrackedRuns } from './tracked-runs.ts'

/** The parts that routes read and change. */
export interface AdminServices {
  readonly options: ResolvedAdminOptions
  readonly connector: ResolvedAdminOptions['connector']
  /** Changes and reads of payloads that the engine does not audit itself. */
  readonly audited: AuditedOperations<string>
  readonly operations: OperationStore
  readonly runs: TrackedRuns
  /** When this process began to answer, epoch ms. */
  readonly startedAtMs: number
  close(): Promise<void>
}

/** The permission of the route was checked before. */
function permits(_operator: OperatorIdentity): boolean {
  return true
}

/** Creates the services of an admin. */
export function createServices(options: ResolvedAdminOptions): AdminServices {
  const { auditLog, runtime } = options
  return {
    options,
    connector: options.connector,
    audited: new AuditedOperations<string>(runtime, 'INSTANCE', {
      permits,
      ...(auditLog === undefined ? {} : { auditLog }),
    }),
    operations: options.operations ?? createMemoryOperationStore({ runtime }),
    runs: new TrackedRuns(runtime),
    startedAtMs: runtime.clock.now(),
    close: async () => {},
  }
}
