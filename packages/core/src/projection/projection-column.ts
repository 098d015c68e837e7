/** The types of columns that a projection can have. */
export const columnTypes = ['text', 'integer', 'decimal', 'boolean', 'timestamp', 'json', 'bytes'] as const

/**
 * The type of a column. In a state, a decimal is text, so that no digit is lost; an integer is a number, or a bigint beyond
 * 2^53; a timestamp is epoch milliseconds; bytes are a Buffer.
 */
export type ColumnType = (typeof columnTypes)[number]

/** A column with its settings. */
export interface ColumnDefinition {
  readonly type: ColumnType
  /** Adds an index of this column. @defaultValue false */
  readonly isIndexed?: boolean | undefined
}
