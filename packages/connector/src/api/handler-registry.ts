import { ArgumentError } from '@waybill/core'
import type { Binding } from './binding.ts'

/**
 * Handlers by name, for bindings that are data: a file or a request cannot contain a function, so it refers to one by
 * name. A binding without a handler name uses the handler with the binding's own name.
 */
export class HandlerRegistry {
  readonly #byName = new Map<string, Binding['handler']>()

  /** @param handlers - initial handlers by name */
  constructor(handlers: Readonly<Record<string, Binding['handler']>> = {}) {
    for (const [name, handler] of Object.entries(handlers)) this.register(name, handler)
  }

  /**
   * Adds a handler.
   * @throws ArgumentError if the name is taken, because bindings may already refer to the other handler
   */
  register(name: string, handler: Binding['handler']): this {
    if (name === '') throw new ArgumentError('The name of a handler must not be empty.')
    if (this.#byName.has(name)) throw new ArgumentError(`A handler '${name}' is already registered.`)
    this.#byName.set(name, handler)
    return this
  }

  /** Removes a handler. Returns false if there was none. Existing bindings keep the handler. */
  unregister(name: string): boolean {
    return this.#byName.delete(name)
  }

  get(name: string): Binding['handler'] | undefined {
    return this.#byName.get(name)
  }

  /** Returns the names in the order of registration. */
  names(): readonly string[] {
    return [...this.#byName.keys()]
  }
}
