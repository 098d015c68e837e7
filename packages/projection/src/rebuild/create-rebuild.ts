import {
  AuditUnwritableError,
  describeThrown,
  OperationForbiddenError,
  type OperatorIdentity,
  type Schemas,
} from '@waybill/core'
import { AuditedOperations } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import type { ProjectionOperation } from '../definition/projection-operation.ts'
import { topicsOf } from '../definition/topics-of.ts'
import { type RebuildOptions, type ResolvedRebuildOptions, resolveRebuildOptions } from './rebuild-options.ts'
import { isFinal } from './retried.ts'
import { type RebuildStatus, TableRebuild } from './table-rebuild.ts'
import { createTopicSource } from './topic-source.ts'

/**
 * Builds another table of a projection. Each call rejects with OperationForbiddenError if the operator lacks the permission,
 * and with AuditUnwritableError if its request cannot be written to the audit log.
 */
export interface Rebuild {
  /**
   * Starts or continues the rebuild, and yields its progress until it is READY, or LIVE with `switch: 'WHEN_READY'`. Leaving
   * the loop stops this process's part. Any number of processes may run it.
   *
   * @throws RebuildRefusedError before anything is written, RebuildFailedError; the live table is never touched
   */
  run(
    operator: OperatorIdentity,
    options?: { readonly signal?: AbortSignal },
  ): AsyncGenerator<RebuildStatus, RebuildStatus>
  /** Makes the new table the live one, once it includes everything that the live one does. @throws StateError unless READY */
  switchNow(operator: OperatorIdentity): Promise<void>
  /**
   * Starts the way back to the newest table of this revision that was live before: it catches up from where it was. Then
   * `run` and `switchNow` as for a new one.
   */
  rollBack(operator: OperatorIdentity): Promise<void>
  /** Stops the rebuild in all processes, and drops its table. */
  cancel(operator: OperatorIdentity): Promise<void>
  /** Drops the tables that were live before, and those of rebuilds that failed. */
  dropRetired(operator: OperatorIdentity): Promise<void>
}

/**
 * Creates the rebuild of a projection. It reads the topics of the catalog.
 *
 * @throws OptionsError with all violations
 */
export function createRebuild<S extends Schemas, State>(
  projection: Projection<S, State>,
  options: RebuildOptions,
): Rebuild {
  const resolved = resolveRebuildOptions(options)
  const source = createTopicSource(resolved.kafka, [...topicsOf(projection)])
  const table = new TableRebuild(projection as unknown as Projection<Schemas, unknown>, resolved, source)
  return auditedRebuild(table, projection.name, resolved)
}

/** Asks for permissions, and writes each operation to the audit log (I21). */
export function auditedRebuild(
  table: TableRebuild,
  target: string,
  { administration, runtime, switch: whenToSwitch, again, verify }: ResolvedRebuildOptions,
): Rebuild {
  // A table belongs to all nodes.
  const audited = new AuditedOperations<ProjectionOperation>(runtime, 'FLEET', administration)
  const asked = (operation: ProjectionOperation, operator: OperatorIdentity, request: object = {}) => {
    return { operation, target, request, operator }
  }
  const change = async <T>(
    operation: ProjectionOperation,
    operator: OperatorIdentity,
    work: () => Promise<T>,
    detail: string,
  ): Promise<void> => {
    await audited.run(asked(operation, operator), work, (result) => ({ [detail]: result }))
  }
  const switchNow = (operator: OperatorIdentity): Promise<void> =>
    change('SWITCH_TABLE', operator, () => table.switchNow(), 'live')
  /** One that is not possible yet is in the audit log, and tried again at the next status. */
  const switchIfPossible = async (operator: OperatorIdentity): Promise<void> => {
    try {
      await switchNow(operator)
    } catch (error) {
      if (error instanceof OperationForbiddenError || error instanceof AuditUnwritableError || isFinal(error))
        throw error
      runtime.logger.warn({ projection: target, error: describeThrown(error) }, 'Switch failed, retrying')
    }
  }
  return {
    async *run(operator, { signal } = {}) {
      // Now, not after hours.
      if (whenToSwitch === 'WHEN_READY') await audited.permit(asked('SWITCH_TABLE', operator))
      const request = { switch: whenToSwitch, again, verify }
      const build = await audited.run(
        asked('REBUILD', operator, request),
        () => table.join(),
        ({ number, revision, state }) => ({ build: number, revision, state }),
      )
      const running = table.run(build, signal)
      try {
        for (;;) {
          const { done, value } = await running.next()
          if (done === true) return value
          yield value
          if (value.state === 'READY' && whenToSwitch === 'WHEN_READY') await switchIfPossible(operator)
        }
      } finally {
        await running.return(undefined as never)
      }
    },
    switchNow,
    rollBack: (operator) => change('ROLL_BACK_TABLE', operator, () => table.rollBack(), 'build'),
    cancel: (operator) => change('CANCEL_REBUILD', operator, () => table.cancel(), 'build'),
    dropRetired: (operator) => change('DROP_TABLES', operator, () => table.dropRetired(), 'dropped'),
  }
}
