import { context, type SpanContext, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

/** A provider whose ended spans a test reads back. It sets the global context manager until it is disposed. */
export class RecordedSpans implements Disposable {
  readonly exporter: InMemorySpanExporter = new InMemorySpanExporter()
  readonly provider: TracerProvider
  readonly #manager = new AsyncLocalStorageContextManager()

  constructor(sampler?: Sampler, processors: readonly SpanProcessor[] = []) {
    this.provider = new TracerProvider({
      ...(sampler === undefined ? {} : { sampler }),
      spanProcessors: [new SimpleSpanProcessor({ exporter: this.exporter }), ...processors],
    })
    context.setGlobalContextManager(this.#manager.enable())
  }

  get tracer(): ReturnType<TracerProvider['getTracer']> {
    return this.provider.getTracer('test')
  }

  get all(): readonly ReadableSpan[] {
    return this.exporter.getFinishedSpans()
  }

  get first(): ReadableSpan {
    const [span] = this.all
    if (span === undefined) throw new Error('No span has ended.')
    return span
  }

  named(name: string): readonly ReadableSpan[] {
    return this.all.filter((span) => span.name === name)
  }

  /** Runs work within a span of the application. */
  async within<T>(name: string, work: () => Promise<T>): Promise<T> {
    const span = this.tracer.startSpan(name)
    try {
      return await context.with(trace.setSpan(context.active(), span), work)
    } finally {
      span.end()
    }
  }

  [Symbol.dispose](): void {
    this.#manager.disable()
    context.disable()
  }
}

/** The position of a span in its trace. */
export function placeOf(span: ReadableSpan): {
  trace: string
  id: string
  parent: string | undefined
  links: string[]
} {
  const { traceId, spanId } = span.spanContext()
  return {
    trace: traceId,
    id: spanId,
    parent: span.parentSpanContext?.spanId,
    links: span.links.map(({ context: linked }: { context: SpanContext }) => linked.spanId),
  }
}
