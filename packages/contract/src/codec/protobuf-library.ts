/** The part of the library protobufjs that is used, so that its package is needed only by those who pass it in. */

/** The library protobufjs, version 8: `import protobuf from 'protobufjs'`. */
export interface ProtobufLibrary {
  readonly Root: unknown
  readonly parse: unknown
  readonly common: unknown
}

/** A field of a message. */
export interface ProtobufField {
  readonly name: string
  readonly id: number
  readonly type: string
  readonly repeated: boolean
  readonly required: boolean
  readonly map: boolean
  readonly keyType?: string
  /** True if an absent field differs from its default. */
  readonly hasPresence: boolean
  readonly delimited: boolean
  readonly resolvedType: ProtobufType | ProtobufEnum | null
  readonly defaultValue: unknown
  /** The `oneof` that it belongs to. */
  readonly partOf: { readonly name: string; readonly fieldsArray: readonly ProtobufField[] } | null
  resolve(): ProtobufField
}

/** An enumeration. */
export interface ProtobufEnum {
  readonly values: Readonly<Record<string, number>>
  readonly valuesById: Readonly<Record<number, string>>
}

/** A message type. */
export interface ProtobufType {
  readonly fullName: string
  readonly name: string
  readonly fieldsArray: readonly ProtobufField[]
  readonly fieldsById: Readonly<Record<number, ProtobufField>>
  readonly fields: Readonly<Record<string, ProtobufField>>
  readonly nestedArray?: readonly ProtobufNode[]
  encode(message: unknown): { finish(): Uint8Array }
  decode(bytes: Uint8Array): Readonly<Record<string, unknown>>
  fromObject(value: object): unknown
}

/** Anything that a file declares. */
export interface ProtobufNode {
  readonly name: string
  readonly fullName?: string
  readonly nestedArray?: readonly ProtobufNode[]
}

/** The root of parsed files. */
export interface ProtobufRoot extends ProtobufNode {
  lookupType(name: string): ProtobufType
  addJSON(nested: object): unknown
  resolveAll(): unknown
}

/** Returns whether a declaration is a message type. */
export function isMessageType(node: unknown): node is ProtobufType {
  return typeof node === 'object' && node !== null && 'fieldsById' in node
}

/** Returns the message type of a field; null for an enumeration and a scalar. */
export function messageOf({ resolvedType }: ProtobufField): ProtobufType | null {
  return isMessageType(resolvedType) ? resolvedType : null
}

/** Returns the enumeration of a field. */
export function enumOf({ resolvedType }: ProtobufField): ProtobufEnum | null {
  return resolvedType === null || isMessageType(resolvedType) ? null : resolvedType
}
