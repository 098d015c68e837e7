import { OptionsError } from '@waybill/core'
import { expect } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { ResolvedBinding } from '../../src/binding/resolved-binding.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'

/** The least a binding needs, and what a test adds. */
export function bindingOf(options: Partial<Binding> = {}): Binding {
  return { topic: 'orders.events', groupId: 'billing', handler: () => {}, ...options }
}

/** The same with everything decided. */
export function resolved(options: Partial<Binding> = {}, name = 'orders'): ResolvedBinding {
  return resolveBinding(name, bindingOf(options))
}

/** Returns the violations of an options object: `path problem`, one line each. */
export function violationsOf(run: () => unknown): string[] {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError)
    return (error as OptionsError).violations.map(({ path, problem }) => `${path} ${problem}`)
  }
  return []
}

/** The same for one binding called `orders`, without the prefix of its path. */
export function refusalsOf(options: object): string[] {
  return violationsOf(() => resolveBinding('orders', { ...bindingOf(), ...options })).map((line) =>
    line.replace(/^bindings\.orders\./, ''),
  )
}
