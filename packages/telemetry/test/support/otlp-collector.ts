/** A collector of OpenTelemetry's protocol over HTTP: keeps the spans that it receives. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** A span as it was exported. */
export interface CollectedSpan {
  /** The name of the tracer: one for each service. */
  readonly service: string
  readonly name: string
  readonly trace: string
  readonly id: string
  /** Undefined for a root. */
  readonly parent: string | undefined
  /** The ids of the linked spans. */
  readonly links: readonly string[]
  readonly attributes: Readonly<Record<string, string>>
  readonly startNs: bigint
}

interface ExportedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly links?: readonly { readonly spanId: string }[]
  readonly attributes?: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string }
      readonly spans: readonly ExportedSpan[]
    }[]
  }[]
}

/** See the file's comment. */
export class OtlpCollector implements AsyncDisposable {
  readonly #server: Server
  readonly #spans: CollectedSpan[] = []
  readonly #problems: unknown[] = []

  private constructor() {
    this.#server = createServer((request, response) => {
      if (request.method !== 'POST' || request.url !== '/v1/traces') {
        response.writeHead(404).end()
        return
      }
      void this.#receive(request, response)
    })
  }

  static async start(): Promise<OtlpCollector> {
    const collector = new OtlpCollector()
    collector.#server.listen(0, '127.0.0.1')
    await once(collector.#server, 'listening')
    return collector
  }

  get url(): string {
    return `http://127.0.0.1:${addressOf(this.#server).port}/v1/traces`
  }

  /** Returns all spans in the order of their start. @throws if a request could not be read */
  spans(): readonly CollectedSpan[] {
    if (this.#problems.length > 0)
      throw new Error('A request of an exporter is unreadable.', { cause: this.#problems[0] })
    return this.#spans.toSorted((one, other) => (one.startNs < other.startNs ? -1 : 1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.#keep((await json(request)) as ExportRequest)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    } catch (error) {
      this.#problems.push(error)
      response.writeHead(400).end()
    }
  }

  #keep({ resourceSpans }: ExportRequest): void {
    for (const { scopeSpans } of resourceSpans)
      for (const { scope, spans } of scopeSpans)
        for (const span of spans)
          this.#spans.push({
            service: scope.name,
            name: span.name,
            trace: span.traceId,
            id: span.spanId,
            parent: span.parentSpanId ? span.parentSpanId : undefined,
            links: (span.links ?? []).map(({ spanId }) => spanId),
            attributes: Object.fromEntries(
              (span.attributes ?? []).map(({ key, value }) => [key, String(Object.values(value)[0])]),
            ),
            startNs: BigInt(span.startTimeUnixNano),
          })
  }
}

function addressOf(server: Server): AddressInfo {
  return server.address() as AddressInfo
}
