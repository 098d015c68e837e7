/** Contains what samplers, processors and exporters throw: no span may stop a write or a delivery. */

import { describeThrown, type Logger, type Tracer } from '@waybill/core'
import type {
  CreateScope,
  CreateSpan,
  ProcessEnd,
  ProcessScope,
  ProcessSpan,
  SendScope,
  SendSpan,
} from '@waybill/core/internal'

const noCreate: CreateSpan = Object.freeze({ headers: Object.freeze({}), end: () => {} })
const noSend: SendSpan = Object.freeze({ run: <T>(work: () => T) => work(), sent: () => {}, failed: () => {} })
const noProcess: ProcessSpan = Object.freeze({
  traceparent: '',
  logFields: Object.freeze({}),
  run: <T>(work: () => T) => work(),
  end: () => {},
})

/** A tracer that never throws. The first failure is logged, later ones are dropped. */
export class ContainedTracer implements Tracer {
  readonly #tracer: Tracer
  readonly #logger: Logger
  #hasFailed = false

  constructor(tracer: Tracer, logger: Logger) {
    this.#tracer = tracer
    this.#logger = logger
  }

  get spans(): 'SAMPLED' | 'ALL' {
    return this.#tracer.spans
  }

  create(of: CreateScope): CreateSpan {
    const span = this.#contained(() => this.#tracer.create(of), noCreate)
    return { headers: span.headers, end: (error) => this.#contained(() => span.end(error), undefined) }
  }

  send(of: SendScope): SendSpan {
    const span = this.#contained(() => this.#tracer.send(of), noSend)
    return {
      run: (work) => span.run(work),
      sent: (at) => this.#contained(() => span.sent(at), undefined),
      failed: (error) => this.#contained(() => span.failed(error), undefined),
    }
  }

  process(of: ProcessScope): ProcessSpan {
    const span = this.#contained(() => this.#tracer.process(of), noProcess)
    return {
      traceparent: span.traceparent,
      logFields: span.logFields,
      run: (work) => span.run(work),
      end: (end) => this.#contained(() => span.end(end), undefined),
    }
  }

  failed(of: ProcessScope, startMs: number, end: ProcessEnd): string | undefined {
    return this.#contained(() => this.#tracer.failed(of, startMs, end), undefined)
  }

  #contained<T>(work: () => T, instead: T): T {
    try {
      return work()
    } catch (error) {
      if (!this.#hasFailed)
        this.#logger.warn({ reason: describeThrown(error) }, 'Tracing failed; further errors are not logged')
      this.#hasFailed = true
      return instead
    }
  }
}
