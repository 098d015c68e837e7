import type { Runtime } from '@waybill/core'
import type { KafkaApi, RequestOf, ResponseOf } from '@waybill/kafka/wire'
import { errorResponses } from './error-response.ts'
import type { Faults } from './faults.ts'
import type { Call, RequestHandler, RequestHandlers } from './request-handler.ts'

/** Serves requests, with the faults they meet on the way. */
export class RequestServer {
  readonly #runtime: Runtime
  readonly #handlers: RequestHandlers
  readonly #faults: Faults

  constructor(runtime: Runtime, handlers: RequestHandlers, faults: Faults) {
    this.#runtime = runtime
    this.#handlers = handlers
    this.#faults = faults
  }

  /** The answer; null when the connection is to end without one. */
  async serve<A extends KafkaApi>(api: A, request: RequestOf<A>, call: Call): Promise<ResponseOf<A> | null> {
    await this.#faults.pass(api, call)
    const fault = this.#faults.draw(api, call)
    switch (fault.kind) {
      case 'DEAD_CONNECTION':
        return null
      case 'ERROR':
        return this.#refuse(api, request, call, fault.errorCode)
      case 'DELAY':
        await this.#runtime.timers.sleep(fault.ms)
        return this.#handle(api, request, call)
      case 'NONE':
        return this.#handle(api, request, call)
      case 'LATE_ERROR':
        await this.#handle(api, request, call)
        return this.#refuse(api, request, call, fault.errorCode)
      case 'LOST_RESPONSE':
        await this.#handle(api, request, call)
        return null
    }
  }

  async #handle<A extends KafkaApi>(api: A, request: RequestOf<A>, call: Call): Promise<ResponseOf<A>> {
    return (this.#handlers[api] as RequestHandler<A>)(request, call)
  }

  async #refuse<A extends KafkaApi>(api: A, request: RequestOf<A>, call: Call, code: number): Promise<ResponseOf<A>> {
    const respond = errorResponses[api] as (request: RequestOf<A>, code: number) => ResponseOf<A>
    const refusal = respond(request, code)
    // A broker always knows the other brokers; what it may not know is a topic.
    return api === 'Metadata'
      ? { ...(await this.#handle(api, request, call)), topics: (refusal as ResponseOf<'Metadata'>).topics }
      : refusal
  }
}
