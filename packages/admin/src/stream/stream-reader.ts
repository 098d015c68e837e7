/** An event of the stream. */
export interface StreamEvent {
  readonly id: bigint
  readonly kind: string
  readonly topic: string
  readonly data: unknown
  /** Whether a reader may see it is decided with the grants that the stream began with. */
  readonly isVisible: (mayRead: (permission: StreamPermission, subject: string | undefined) => boolean) => boolean
}

/** Permissions that events need. */
export type StreamPermission = 'bindings:read' | 'operations:read' | 'dlt:read' | 'audit:read' | 'outbox:read'

const maxBacklogBytes = 256 * 1024

/** The connection of one reader: events wait until it takes them, up to a bound. */
export class StreamReader {
  readonly #waiting: string[] = []
  #bytes = 0
  #wake = Promise.withResolvers<void>()
  #isEnded = false

  /** Returns whether the reader still takes events. */
  get isOpen(): boolean {
    return !this.#isEnded
  }

  /** Adds a text. A reader that does not read is told that it lags, and ended. */
  push(text: string): void {
    if (this.#isEnded) return
    this.#bytes += text.length
    if (this.#bytes > maxBacklogBytes) {
      this.#waiting.length = 0
      this.#waiting.push('event: lagging\ndata: {}\n\n')
      this.end()
      return
    }
    this.#waiting.push(text)
    this.#wake.resolve()
  }

  /** Ends the stream after what waits. */
  end(): void {
    this.#isEnded = true
    this.#wake.resolve()
  }

  /** Yields what waits, until the end or the reader leaves. */
  async *read(leave: AbortSignal, onEnd: () => void): AsyncGenerator<string> {
    const onLeave = (): void => this.end()
    leave.addEventListener('abort', onLeave, { once: true })
    try {
      while (!leave.aborted) {
        const text = this.#waiting.join('')
        this.#waiting.length = 0
        this.#bytes = 0
        if (text !== '') yield text
        else if (this.#isEnded) return
        else {
          await this.#wake.promise
          this.#wake = Promise.withResolvers()
        }
      }
    } finally {
      leave.removeEventListener('abort', onLeave)
      this.#isEnded = true
      onEnd()
    }
  }
}

/** Writes an event as text. JSON has no line breaks. */
export function eventText(kind: string, data: string, id?: bigint): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${kind}\ndata: ${data}\n\n`
}
