import { ArgumentError } from '../errors.ts'
import { hasMethods } from '../option/has-methods.ts'
import { showValue } from '../option/show-value.ts'

/** A client of ioredis. */
export interface IoRedisClient {
  call(command: string, ...parameters: string[]): Promise<unknown>
}

/** A client of node-redis (`redis`). */
export interface NodeRedisClient {
  sendCommand(command: string[]): Promise<unknown>
}

/** Sends one command. */
export type RedisSend = (...command: [string, ...string[]]) => Promise<unknown>

/** Returns the function that sends commands through either client. @throws an ArgumentError for anything else */
export function redisSender(caller: string, client: IoRedisClient | NodeRedisClient): RedisSend {
  requireClient(caller, client)
  // ioredis has a sendCommand too, which takes something else.
  return (...command) => ('call' in client ? client.call(...command) : client.sendCommand(command))
}

/** A function has a `call` of its own, and an address is no client: either would fail with the first command only. */
function requireClient(caller: string, given: unknown): void {
  if (typeof given !== 'function' && ['call', 'sendCommand'].some((name) => hasMethods(given, name))) return
  throw new ArgumentError(`${caller} takes a client of ioredis or node-redis, not ${showValue(given)}.`, {
    hint: "Connect one yourself: new Redis('redis://…') of ioredis, or createClient({ url }) of redis.",
  })
}
