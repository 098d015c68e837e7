/** The deliveries of one binding on virtual time, with its own breaker and classifier. */

import {
  createCircuitBreaker,
  createExceptionClassifier,
  createMemoryLogger,
  createMemoryMetrics,
  noopLogger,
} from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { createVirtualRuntime } from '@waybill/sim'
import type { VirtualParts } from '@waybill/sim/internal'
import type { Binding } from '../../src/api/binding.ts'
import { BindingTelemetry } from '../../src/binding/binding-telemetry.ts'
import { createDeduplication } from '../../src/delivery/deduplicate.ts'
import { Delivery } from '../../src/delivery/delivery.ts'
import { Work } from '../../src/delivery/work.ts'
import type { ContextScope } from '../../src/handlers/delivery-context.ts'
import { createInvocation } from '../../src/handlers/invocation.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { WorkerScope } from '../../src/partition/worker-scope.ts'
import type { ReadOriginal } from '../../src/records/original-reader.ts'
import { recordOf } from './work-of.ts'

/** Makes the scene. */
export function deliveryScene(
  given: Partial<Binding> & Pick<Binding, 'handler'>,
  parts: VirtualParts = {},
  readOriginal: ReadOriginal = async () => undefined,
) {
  const metrics = createMemoryMetrics()
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { metrics, logger, ...parts })
  const binding = resolveBinding('orders', { topic: 'orders', groupId: 'group', ...given })
  const breaker = createCircuitBreaker('orders', binding.circuitBreaker, runtime)
  const context: ContextScope = {
    bindingName: 'orders',
    groupId: 'group',
    logger: noopLogger,
    clock: runtime.clock,
    publisher: undefined as unknown as ContextScope['publisher'],
  }
  const delivery = new Delivery({
    binding,
    invocation: createInvocation(binding),
    deduplication: createDeduplication(binding),
    readOriginal,
    context,
    breaker,
    classifier: createExceptionClassifier(binding.exceptions),
    telemetry: new BindingTelemetry(binding, metrics),
    runtime,
  })
  const halt = { isHalted: () => false }
  const scope = new WorkerScope(() => halt.isHalted())
  const slice = { handedOverAt: 0, startedAt: 0, era: 0 }
  const workOf = (record: KafkaRecord = recordOf(), kind: 'SOURCE' | 'TIER' = 'SOURCE', tier = 0): Work =>
    new Work(record, { kind, tier, groupId: 'group', consumerInstance: 'host-0' }, slice, 0)
  return {
    runtime,
    metrics,
    logger,
    breaker,
    delivery,
    scope,
    /** Tells whether the partition is paused. */
    halt,
    slice,
    workOf,
    /** Delivers and lets time pass until the outcome is there. */
    deliver: (work = workOf()) => runtime.run(() => delivery.deliver(work, scope)),
  }
}
