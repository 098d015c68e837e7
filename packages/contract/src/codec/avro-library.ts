/** The part of the library avsc that is used, so that its package is needed only by those who pass it in. */

/** A compiled schema of avsc. */
export interface AvroType {
  /** `record`, `logical:bytes`, `union:unwrapped`, `int`, … */
  readonly typeName: string
  isValid(value: unknown, options?: object): boolean
  toBuffer(value: unknown): Uint8Array
  fromBuffer(bytes: Uint8Array, resolver?: never, noCheck?: boolean): unknown
  createResolver(writer: never): unknown
}

/** The library avsc, version 5: `import avsc from 'avsc'`. */
export interface AvroLibrary {
  readonly Type: { readonly forSchema: (schema: never, options?: object) => AvroType }
  readonly types: {
    readonly LogicalType: unknown
    readonly LongType: unknown
    readonly WrappedUnionType: unknown
  }
}

/** The inner parts of a type that its structure consists of. */
export interface AvroParts extends AvroType {
  readonly underlyingType?: AvroParts
  readonly fields?: readonly { readonly name: string; readonly type: AvroParts }[]
  readonly types?: readonly AvroParts[]
  readonly itemsType?: AvroParts
  readonly valuesType?: AvroParts
  readonly symbols?: readonly string[]
  readonly size?: number
}
