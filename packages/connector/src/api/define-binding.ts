import type { Binding } from './binding.ts'

/** The cluster whose bindings need no other name than their own. */
export const defaultCluster = 'default'

/**
 * A binding whose handler gets the transaction of its inbox, `context.tx`, in its right type. Anything else needs no
 * more than the object itself.
 */
export function defineBinding<Tx = undefined>(binding: Binding<Tx>): Binding {
  // The engine hands over what the inbox gave: nothing else knows of Tx.
  return binding as unknown as Binding
}
