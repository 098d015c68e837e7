/** The parts that all deliveries of a binding share. */

import type { CircuitBreaker, ExceptionClassifier, Runtime } from '@waybill/core'
import type { BindingTelemetry } from '../binding/binding-telemetry.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { ContextScope } from '../handlers/delivery-context.ts'
import type { Invocation } from '../handlers/invocation.ts'
import type { ReadOriginal } from '../records/original-reader.ts'
import type { Deduplication } from './deduplicate.ts'
import type { PollInterval } from './poll-interval.ts'

/** The collaborators of a binding's deliveries. */
export interface DeliveryDeps {
  readonly binding: ResolvedBinding
  readonly invocation: Invocation
  /** Undefined where the binding does not deduplicate. */
  readonly deduplication: Deduplication | undefined
  /** Reads the originals of replays for other groups. */
  readonly readOriginal: ReadOriginal
  readonly context: ContextScope
  readonly breaker: CircuitBreaker
  readonly classifier: ExceptionClassifier
  readonly telemetry: BindingTelemetry
  readonly runtime: Runtime
}

/** The collaborators of every stage. */
export interface StageDeps extends DeliveryDeps {
  readonly pollInterval: PollInterval
}
