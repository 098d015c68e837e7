import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { demoToken } from '@waybill/example-order-service/demo-tokens'

/** The result of a load. */
export interface LoadResult {
  readonly seconds: number
  readonly latenciesMs: readonly number[]
  /** Answers by status; 0 stands for requests without an answer. */
  readonly statuses: ReadonlyMap<number, number>
}

interface Answer {
  readonly status: number
  readonly id: string | undefined
}

interface Placed {
  readonly key: string
  readonly token: string
}

const workers = 12
/** Every third create repeats a key. */
const repeatShare = 1 / 3
/** Below the limit of a user and path, of which a create and a read are one each. */
const requestsOfUser = 200
const cart = JSON.stringify({ items: [{ sku: 'A-1', quantity: 2, unitPriceMinor: 1_250 }], currency: 'EUR' })
const claims = { role: 'USER', issuer: 'https://issuer.example', audience: 'orders', lifetimeSeconds: 3_600 }

/** Clients that create orders and read them, half and half, and remember what they were told. */
export class OrderLoad implements Disposable {
  readonly #urls: readonly string[]
  readonly #agent = new Agent({ keepAlive: true, maxSockets: workers })
  /** Every order that was asked for, by key: the id that was answered, or undefined. */
  readonly #orders = new Map<string, { readonly token: string; id: string | undefined }>()
  /** Repeats that were answered with another order. */
  doubled = 0
  repeats = 0
  #next = 0

  constructor(urls: readonly string[]) {
    this.#urls = urls
  }

  get keys(): number {
    return this.#orders.size
  }

  /** Runs all workers until `end` resolves. */
  async run(end: Promise<unknown>): Promise<LoadResult> {
    const latenciesMs: number[] = []
    const statuses = new Map<number, number>()
    let isOver = false
    const begun = performance.now()
    const ending = end.then(() => void (isOver = true))
    const work = async (worker: number): Promise<void> => {
      let token = ''
      for (let sent = 0; !isOver; sent++) {
        if (sent % requestsOfUser === 0) token = await demoToken({ subject: randomUUID(), ...claims })
        const asked = performance.now()
        const { status } = await this.#one(worker, token)
        latenciesMs.push(performance.now() - asked)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all([ending, ...Array.from({ length: workers }, (_, worker) => work(worker))])
    return { seconds: (performance.now() - begun) / 1_000, latenciesMs, statuses }
  }

  /** Repeats every request that has no answer, until it has one. @returns how many there were */
  async settle(): Promise<number> {
    const open = [...this.#orders].filter(([, { id }]) => id === undefined)
    for (const [key, { token }] of open)
      while (this.#orders.get(key)?.id === undefined) {
        const { status } = await this.#place({ key, token }, this.#next++)
        if (status !== 201) await new Promise((resolve) => setTimeout(resolve, 500))
      }
    return open.length
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  async #one(worker: number, token: string): Promise<Answer> {
    const turn = this.#next++
    const own = this.#latest.get(worker)
    if (turn % 2 === 0 && own?.id !== undefined) return this.#send(turn, 'GET', `/orders/${own.id}`, own.token)
    const isRepeat = own !== undefined && Math.random() < repeatShare
    const placed = isRepeat ? own : { key: randomUUID(), token }
    if (isRepeat) this.repeats++
    const answer = await this.#place(placed, turn)
    this.#latest.set(worker, { ...placed, id: answer.id ?? this.#orders.get(placed.key)?.id })
    return answer
  }

  readonly #latest = new Map<number, Placed & { readonly id: string | undefined }>()

  async #place({ key, token }: Placed, turn: number): Promise<Answer> {
    const known = this.#orders.get(key) ?? { token, id: undefined }
    this.#orders.set(key, known)
    const answer = await this.#send(turn, 'POST', '/orders', token, key)
    if (answer.id !== undefined && known.id !== undefined && known.id !== answer.id) this.doubled++
    known.id ??= answer.id
    return answer
  }

  /** Sends a request to an instance, and to the other one if it does not answer. */
  async #send(turn: number, method: string, path: string, token: string, key?: string): Promise<Answer> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const url = this.#urls[(turn + attempt) % this.#urls.length] as string
      const answer = await this.#exchange(url + path, method, token, key).catch(() => undefined)
      if (answer !== undefined) return answer
    }
    return { status: 0, id: undefined }
  }

  #exchange(url: string, method: string, token: string, key: string | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers: Record<string, string> = { authorization: `Bearer ${token}` }
      if (key !== undefined) headers['x-idempotency-key'] = key
      if (method === 'POST') headers['content-type'] = 'application/json'
      const sent = request(url, { method, headers, agent: this.#agent, timeout: 30_000 }, (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part: Buffer) => parts.push(part))
        answer.on('error', reject)
        answer.on('end', () => {
          const status = answer.statusCode ?? 0
          resolve({ status, id: status === 201 ? idOf(Buffer.concat(parts).toString()) : undefined })
        })
      })
      sent.on('timeout', () => sent.destroy(new Error('No answer.')))
      sent.on('error', reject)
      sent.end(method === 'POST' ? cart : undefined)
    })
  }
}

function idOf(body: string): string {
  return (JSON.parse(body) as { readonly id: string }).id
}
