import { StateError } from '@waybill/core'
import type { OperationStore } from '@waybill/core/internal'
import type { SimProcess } from '../world/sim-process.ts'
import type { World } from './world.ts'

/**
 * Returns the store as a process reaches it: calls take time, are refused, or lose their answer. A call that was sent takes
 * effect even if its process dies meanwhile.
 */
export function faultyStore(world: World, process: SimProcess): OperationStore {
  const { store, program, draw, court, runtime } = world
  const call = async (name: keyof OperationStore, given: readonly unknown[]): Promise<unknown> => {
    const { delayMs, refused, lostAnswers } = program.store
    // Most calls are fast: otherwise every lease would expire.
    const takesMs = draw.chance(0.1) ? draw.ms(0, delayMs) : draw.ms(0, Math.min(delayMs, 20))
    await runtime.timers.sleep(takesMs)
    if (world.isStormy && draw.chance(refused)) {
      court.reach('store: a call is refused')
      throw new StateError(`${name} refused`)
    }
    const answer = await (store[name] as (...of: readonly unknown[]) => Promise<unknown>).call(store, ...given)
    if (name === 'settle' && answer === undefined) court.reach('lease: the write of a former runner changes nothing')
    if (name === 'take' && answer !== undefined)
      world.taken(answer as NonNullable<Awaited<ReturnType<OperationStore['take']>>>)
    if (world.isStormy && draw.chance(lostAnswers)) {
      court.reach('store: an answer is lost')
      throw new StateError(`the answer of ${name} is lost`)
    }
    return answer
  }
  return new Proxy(store, {
    get: (target, name: keyof OperationStore) =>
      typeof target[name] === 'function'
        ? (...given: readonly unknown[]) => process.receive(call(name, given))
        : target[name],
  })
}
