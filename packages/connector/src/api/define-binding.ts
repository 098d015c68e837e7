import type { Binding } from './binding.ts'
import type { DecodedValue, TypedDecoding, ValueDecoder } from './decode-option.ts'

/** The name of the cluster that bindings use by default. */
export const defaultCluster = 'default'

/**
 * Declares a binding, and infers the types of its handler: `context.tx` from the inbox of `deduplicate`, `record.value`
 * from `decode`. Bindings without either can be plain objects.
 */
export function defineBinding<
  Tx = undefined,
  const Decode extends TypedDecoding | undefined = undefined,
  Returned = never,
>(binding: Binding<Tx, ValueDecoder<Returned> | Decode, DecodedValue<Decode, NoInfer<Returned>>>): Binding {
  // The engine passes the transaction and the value through unchanged, so it does not need their types.
  return binding as unknown as Binding
}
