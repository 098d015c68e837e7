import type { OperatorIdentity } from '@waybill/core'
import { AuditedOperations, createMemoryDeadLetterIndex } from '@waybill/core/internal'
import { LetterIndexing } from '../dead-letters/letter-indexing.ts'
import { createOperations, type Operations } from '../operations/create-operations.ts'
import { createIndexRebuildKind } from '../operations/index-rebuild-kind.ts'
import { createRebuildKind } from '../operations/rebuild-kind.ts'
import type { ResolvedAdminOptions } from './admin-options.ts'
import { bindingKey } from './find-binding.ts'
import { PayloadReads } from './payload-reads.ts'

/** The parts that routes read and change. */
export interface AdminServices {
  readonly options: ResolvedAdminOptions
  readonly connector: ResolvedAdminOptions['connector']
  /** Changes and reads of payloads that the engine does not audit itself. */
  readonly audited: AuditedOperations<string>
  readonly operations: Operations
  readonly letters: LetterIndexing
  readonly payloadReads: PayloadReads
  /** When this process began to answer, epoch ms. */
  readonly startedAtMs: number
  close(): Promise<void>
}

/** The permission of the route was checked before. */
function permits(_operator: OperatorIdentity): boolean {
  return true
}

/** Operations of a process that stops end after their batch, at the latest after this. */
const stopMs = 30_000

/** Creates the services of an admin. */
export function createServices(options: ResolvedAdminOptions): AdminServices {
  const { auditLog, runtime, connector, outboxes } = options
  const administration = { permits, ...(auditLog === undefined ? {} : { auditLog }) }
  const index = options.deadLetters ?? createMemoryDeadLetterIndex({ runtime })
  const letters = new LetterIndexing({
    index,
    connector,
    clusters: options.clusters,
    foreignTopics: options.deadLetterTopics,
    rule: options.indexing,
    runtime,
    keyOf: bindingKey,
  })
  const operations = createOperations({
    connector,
    outboxes,
    store: options.operations,
    leaseMs: options.operationLeaseMs,
    fingerprint: options.indexing.fingerprint,
    deadLetters: index,
    instance: options.instance,
    kinds: [
      ...(Object.keys(options.projections).length === 0 ? [] : [createRebuildKind(options.projections)]),
      ...(connector === undefined ? [] : [createIndexRebuildKind(connector, letters)]),
    ],
    administration,
    runtime,
  })
  // Also without a request: operations of processes that disappeared wait for a runner.
  const started = operations.start().catch((err: unknown) => runtime.logger.error({ err }, 'Operations not started'))
  const audited = new AuditedOperations<string>(runtime, 'INSTANCE', administration)
  return {
    options,
    connector,
    audited,
    operations,
    letters,
    payloadReads: new PayloadReads(audited, runtime),
    startedAtMs: runtime.clock.now(),
    async close() {
      await started
      await Promise.all([operations.stop({ deadlineMs: stopMs }), letters.close()])
    },
  }
}
