import type { Binding } from './binding.ts'

/** The name of the cluster that bindings use by default. */
export const defaultCluster = 'default'

/**
 * Declares a binding, and infers the type of `context.tx` from the inbox of `deduplicate`. Bindings without an inbox
 * can be plain objects.
 */
export function defineBinding<Tx = undefined>(binding: Binding<Tx>): Binding {
  // The engine passes the inbox's transaction through unchanged, so it does not need the type.
  return binding as unknown as Binding
}
