import type { Runtime } from '@waybill/core'
import type { AuditedOperations } from '@waybill/core/internal'
import type { Call } from '../route/call.ts'

const everyMs = 3_600_000
const maxKept = 10_000

/** Writes who reads which payload: an entry for each record and operator an hour. */
export class PayloadReads {
  readonly #audited: AuditedOperations<string>
  readonly #runtime: Runtime
  readonly #readAt = new Map<string, number>()

  constructor(audited: AuditedOperations<string>, runtime: Runtime) {
    this.#audited = audited
    this.#runtime = runtime
  }

  /**
   * Reads a payload for an operator, after its entry was written.
   * @param target - the binding or outbox, as its key
   * @throws AuditUnwritableError: what cannot be written is not shown
   */
  async read<T>(call: Pick<Call, 'operator'>, target: string, id: string, work: () => Promise<T>): Promise<T> {
    const { operator } = call
    const now = this.#runtime.clock.monotonic()
    const name = JSON.stringify([operator.by, target, id])
    const last = this.#readAt.get(name)
    if (last !== undefined && now - last < everyMs) return work()
    const result = await this.#audited.run(
      { operation: 'PAYLOAD_READ', target, request: { id }, operator },
      work,
      () => undefined,
    )
    this.#readAt.delete(name)
    this.#readAt.set(name, now)
    const [oldest] = this.#readAt.size > maxKept ? this.#readAt.keys() : []
    if (oldest !== undefined) this.#readAt.delete(oldest)
    return result
  }
}
