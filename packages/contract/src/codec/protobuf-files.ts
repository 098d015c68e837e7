/** Parses the files of Protobuf schemas. */

import { ArgumentError } from '@waybill/core'
import { indexesOfName, nameAtIndexes } from './message-indexes.ts'
import { messageOf, type ProtobufLibrary, type ProtobufRoot, type ProtobufType } from './protobuf-library.ts'

type Parse = (text: string, root: object) => { readonly imports?: readonly string[] }
/** The files of google/protobuf, which the library has with it. */
interface BundledFiles {
  get(file: string): { readonly nested: object } | null
}

/** Compiles message types of one library. */
export class ProtobufFiles {
  readonly #library: ProtobufLibrary

  constructor(library: ProtobufLibrary) {
    this.#library = library
  }

  /** Returns the indexes of a message type in a file. @throws ArgumentError */
  indexesOf(file: string, message: string): readonly number[] {
    const indexes = indexesOfName(this.#alone(file), message)
    if (indexes !== undefined) return indexes
    throw new ArgumentError(`The Protobuf schema has no message ${JSON.stringify(message)}.`, {
      hint: 'Name it with its package, as in shop.OrderPlaced.',
    })
  }

  /** Returns a function that names the message type at indexes of a file. */
  namesOf(file: string): (indexes: readonly number[]) => string | undefined {
    const alone = this.#alone(file)
    return (indexes) => nameAtIndexes(alone, indexes)
  }

  /** Compiles a message type with the files that its file imports. */
  compile(file: string, references: ReadonlyMap<string, string>, message: string): ProtobufType {
    const root = this.#newRoot()
    const parsed = [...references.values(), file].map((text) => this.#parse(text, root))
    for (const name of new Set(parsed.flatMap(({ imports = [] }) => imports))) {
      const bundled = references.has(name) ? null : (this.#library.common as BundledFiles).get(name)
      if (bundled !== null) root.addJSON(bundled.nested)
    }
    root.resolveAll()
    const type = root.lookupType(message)
    refuseKeys(type, new Set())
    return type
  }

  /** Returns the types of one file, in their order; other files would mix theirs in. */
  #alone(file: string): ProtobufRoot {
    const root = this.#newRoot()
    this.#parse(file, root)
    return root
  }

  #newRoot(): ProtobufRoot {
    const Root = this.#library.Root as new () => ProtobufRoot
    return new Root()
  }

  #parse(file: string, root: ProtobufRoot): ReturnType<Parse> {
    return (this.#library.parse as Parse)(file, root)
  }
}

/** Keys of JSON are text, to which protobufjs turns some keys in a way of its own. */
function refuseKeys(type: ProtobufType, seen: Set<ProtobufType>): void {
  if (seen.has(type)) return
  seen.add(type)
  for (const field of type.fieldsArray) {
    if (field.map && /64|bool/.test(field.keyType ?? ''))
      throw new ArgumentError(`The map ${type.fullName.slice(1)}.${field.name} has keys of type ${field.keyType}.`, {
        hint: 'Use keys of type string or of a 32-bit integer.',
      })
    const inner = messageOf(field)
    if (inner !== null) refuseKeys(inner, seen)
  }
}
