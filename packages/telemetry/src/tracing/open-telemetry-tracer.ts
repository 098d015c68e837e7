/**
 * Spans through OpenTelemetry's API.
 *
 *     create ─▶ send ─▶ process (first delivery)          one trace
 *                          ╎ link                 ╎ link to create
 *                       process (retry)                   a trace of its own
 *                          ╎
 *                       process (replay)                  a trace of its own
 *
 * A request and its effect seconds later are one trace. A retry or replay follows minutes or days later: it links to the
 * creation and to the delivery that failed before it.
 */

import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Tracer as OpenTelemetryTracer,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { type Clock, type Logger, noopLogger, systemRuntime, type Tracer } from '@waybill/core'
import type {
  CreateScope,
  CreateSpan,
  ProcessEnd,
  ProcessScope,
  ProcessSpan,
  SendScope,
  SendSpan,
} from '@waybill/core/internal'
import { ContainedTracer } from './contained-tracer.ts'
import { SecondBudget } from './second-budget.ts'
import { own, semantic } from './semantic-names.ts'
import {
  type AttributeOptions,
  attributesOfCreate,
  attributesOfProcess,
  attributesOfSend,
  errorTypeOf,
  placeAttributes,
} from './span-attributes.ts'
import { baggageHeaderOf, baggageOf, flagsOf, spanContextOf, traceparentOf } from './trace-context.ts'

/** Options of {@link openTelemetryTracer}. */
export interface OpenTelemetryTracerOptions {
  /** @defaultValue the global tracer provider's tracer `@waybill/telemetry` */
  readonly tracer?: OpenTelemetryTracer | undefined
  /**
   * SAMPLED: records whose trace is not sampled get no span unless they fail, and then at most ten a second for each
   * binding. @defaultValue 'SAMPLED'
   */
  readonly spans?: 'SAMPLED' | 'ALL' | undefined
  /** Whether the first delivery is a child of the creation or only linked to it. @defaultValue 'PARENT' */
  readonly relation?: 'PARENT' | 'LINK' | undefined
  /** BOTH adds the former names that many backends still look for. @defaultValue 'BOTH' */
  readonly semconv?: 'BOTH' | 'CURRENT' | undefined
  /** Whether record keys are attributes: keys are payload. @defaultValue false */
  readonly keys?: boolean | undefined
  /** Whether errors are recorded with message and stack. @defaultValue true */
  readonly exceptions?: boolean | undefined
  /** Names of baggage that is never written to an event. @defaultValue ['authorization', 'cookie'] */
  readonly baggageDeny?: readonly string[] | undefined
  /** @defaultValue none */
  readonly logger?: Logger | undefined
  /** @defaultValue the system clock */
  readonly clock?: Clock | undefined
}

/** Creates the tracer of a runtime: `runtimeWith({ tracer: openTelemetryTracer() })`. */
export function openTelemetryTracer(options: OpenTelemetryTracerOptions = {}): Tracer {
  return new ContainedTracer(new SpanMaker(options), options.logger ?? noopLogger)
}

const failedPerSecond = 10
const largestMessage = 1_024
const largestStack = 2_048
const warnAgainMs = 60_000

class SpanMaker implements Tracer {
  readonly spans: 'SAMPLED' | 'ALL'
  readonly #given: OpenTelemetryTracer | undefined
  readonly #isParent: boolean
  readonly #attributes: AttributeOptions
  readonly #exceptions: boolean
  readonly #denied: ReadonlySet<string>
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #failures: SecondBudget
  #warnAt = Number.NEGATIVE_INFINITY

  constructor(options: OpenTelemetryTracerOptions) {
    this.spans = options.spans ?? 'SAMPLED'
    this.#given = options.tracer
    this.#isParent = (options.relation ?? 'PARENT') === 'PARENT'
    this.#attributes = { semconv: options.semconv ?? 'BOTH', keys: options.keys ?? false }
    this.#exceptions = options.exceptions ?? true
    this.#denied = new Set((options.baggageDeny ?? ['authorization', 'cookie']).map((name) => name.toLowerCase()))
    this.#logger = options.logger ?? noopLogger
    this.#clock = options.clock ?? systemRuntime.clock
    this.#failures = new SecondBudget(failedPerSecond, this.#clock)
  }

  /** Looked up for each span: an application may register its provider after it made this tracer. */
  get #tracer(): OpenTelemetryTracer {
    return this.#given ?? trace.getTracer('@waybill/telemetry')
  }

  create(of: CreateScope): CreateSpan {
    const active = context.active()
    const attributes = attributesOfCreate(of, this.#attributes)
    const span = this.#tracer.startSpan(`create ${of.eventType}`, { kind: SpanKind.PRODUCER, attributes }, active)
    return {
      headers: this.#headersOf(span, active),
      end: (error) => this.#end(span, error),
    }
  }

  send(of: SendScope): SendSpan {
    const creation = spanContextOf(of.traceparent, of.tracestate)
    const parent = spanContextOf(of.parent) ?? creation
    const within = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
    const attributes = attributesOfSend(of, this.#attributes)
    const links: Link[] = creation === undefined ? [] : [{ context: creation }]
    const span = this.#tracer.startSpan(`send ${of.topic}`, { kind: SpanKind.CLIENT, attributes, links }, within)
    const inside = trace.setSpan(within, span)
    return {
      run: (work) => context.with(inside, work),
      sent: (at) => {
        if (at !== undefined) span.setAttributes(placeAttributes(at, this.#attributes))
        span.end()
      },
      failed: (error) => this.#end(span, error),
    }
  }

  process(of: ProcessScope): ProcessSpan {
    const within = this.#contextOf(of)
    const span = this.#startProcess(of, within)
    const inside = trace.setSpan(within, span)
    const spanContext = span.spanContext()
    return {
      traceparent: traceparentOf(spanContext) ?? '',
      logFields: {
        trace_id: spanContext.traceId,
        span_id: spanContext.spanId,
        trace_flags: flagsOf(spanContext),
      },
      run: (work) => context.with(inside, work),
      end: (end) => this.#endProcess(span, end),
    }
  }

  failed(of: ProcessScope, startMs: number, end: ProcessEnd): string | undefined {
    if (!this.#failures.take(of.binding)) return undefined
    // A root of its own: as a child it would share the decision not to sample the request.
    const span = this.#startProcess(of, ROOT_CONTEXT, startMs)
    this.#endProcess(span, end)
    return traceparentOf(span.spanContext())
  }

  /** Returns the context of a delivery: its parent, and the baggage for what the handler calls. */
  #contextOf(of: ProcessScope): Context {
    const creation = isFirstDelivery(of) && this.#isParent ? spanContextOf(of.traceparent, of.tracestate) : undefined
    const within = creation === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, creation)
    const baggage = baggageOf(of.baggage)
    return baggage === undefined ? within : propagation.setBaggage(within, baggage)
  }

  #startProcess(of: ProcessScope, within: Context, startTime?: number): Span {
    const attributes = attributesOfProcess(of, this.#attributes)
    const links = linksOf(of)
    const started = startTime === undefined ? {} : { startTime }
    return this.#tracer.startSpan(
      `process ${of.topic}`,
      { kind: SpanKind.CONSUMER, attributes, links, ...started },
      within,
    )
  }

  #endProcess(span: Span, { outcome, error, reason }: ProcessEnd): void {
    const attributes: Attributes = { [own.outcome]: outcome }
    if (reason !== undefined) attributes[own.reason] = reason
    span.setAttributes(attributes)
    if (outcome === 'RETRY' || outcome === 'DEAD_LETTER') this.#record(span, error)
    if (outcome === 'DEAD_LETTER') span.addEvent('waybill.dead_lettered', reason === undefined ? {} : { reason })
    span.end()
  }

  #end(span: Span, error: unknown): void {
    if (error !== undefined) this.#record(span, error)
    span.end()
  }

  #record(span: Span, error: unknown): void {
    span.setAttribute(semantic.errorType, errorTypeOf(error))
    if (!this.#exceptions) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      return
    }
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined }
    const cut = message.slice(0, largestMessage)
    span.setStatus({ code: SpanStatusCode.ERROR, message: cut })
    span.recordException({
      name: errorTypeOf(error),
      message: cut,
      ...(stack === undefined ? {} : { stack: stack.slice(0, largestStack) }),
    })
  }

  #headersOf(span: Span, active: Context): Readonly<Record<string, string>> {
    const spanContext = span.spanContext()
    const traceparent = traceparentOf(spanContext)
    if (traceparent === undefined) return {}
    const tracestate = spanContext.traceState?.serialize()
    const baggage = baggageHeaderOf(active, this.#denied)
    if (baggage === null) this.#warn()
    return {
      traceparent,
      ...(tracestate ? { tracestate } : {}),
      ...(baggage ? { baggage } : {}),
    }
  }

  #warn(): void {
    const now = this.#clock.monotonic()
    if (now < this.#warnAt) return
    this.#warnAt = now + warnAgainMs
    this.#logger.warn({ maxBytes: 8_192, maxMembers: 64 }, 'Baggage dropped, larger than an event may carry')
  }
}

/** The first delivery of a record continues the trace of its creation. */
function isFirstDelivery({ tier, replayCount, batch, attemptTraceparent }: ProcessScope): boolean {
  return tier === 0 && replayCount === 0 && batch === undefined && attemptTraceparent === undefined
}

function linksOf(of: ProcessScope): Link[] {
  const origins = of.batch?.traceparents ?? (of.traceparent === undefined ? [] : [of.traceparent])
  const before = of.attemptTraceparent === undefined ? [] : [of.attemptTraceparent]
  return [...origins, ...before].flatMap((traceparent) => {
    const linked = spanContextOf(traceparent)
    return linked === undefined ? [] : [{ context: linked }]
  })
}
