/** How the state of a page is written into its URL. What a user mistypes becomes the default. */

/** A part of the state. */
export interface Param<T> {
  readonly read: (text: string | undefined) => T
  /** Returns undefined for the default, which is left out. */
  readonly write: (value: T) => string | undefined
}

/** Any text. */
export function textParam(fallback = ''): Param<string> {
  return { read: (text) => text ?? fallback, write: (value) => (value === fallback ? undefined : value) }
}

/** One of a closed set of words. */
export function wordParam<const W extends string>(words: readonly W[], fallback: NoInfer<W>): Param<W> {
  return {
    read: (text) => words.find((word) => word === text) ?? fallback,
    write: (value) => (value === fallback ? undefined : value),
  }
}

/** A set of words, separated by commas. */
export function wordsParam<const W extends string>(words: readonly W[]): Param<readonly W[]> {
  return {
    read: (text) => words.filter((word) => text?.split(',').includes(word) === true),
    write: (values) => {
      const given = words.filter((word) => values.includes(word))
      return given.length === 0 ? undefined : given.join(',')
    },
  }
}

/** A column and its direction: `lag`, or `-lag` for the largest first. */
export interface SortOrder<C extends string = string> {
  readonly column: C
  readonly isDescending: boolean
}

/** The order of a table. */
export function sortParam<const C extends string>(
  columns: readonly C[],
  fallback: SortOrder<NoInfer<C>>,
): Param<SortOrder<C>> {
  const textOf = ({ column, isDescending }: SortOrder): string => `${isDescending ? '-' : ''}${column}`
  return {
    read(text = '') {
      const column = columns.find((one) => one === text.replace(/^-/, ''))
      return column === undefined ? fallback : { column, isDescending: text.startsWith('-') }
    },
    write: (order) => (textOf(order) === textOf(fallback) ? undefined : textOf(order)),
  }
}

/** Parameters of any types. */
export type Params = Readonly<
  Record<
    string,
    { readonly read: (text: string | undefined) => unknown; readonly write: (value: never) => string | undefined }
  >
>

/** The state that parameters describe. */
export type StateOf<P> = { readonly [K in keyof P]: P[K] extends Param<infer T> ? T : never }

/** Reads the state of a page. */
export function readState<P extends Params>(params: P, query: Readonly<Record<string, string>>): StateOf<P> {
  return Object.fromEntries(
    Object.entries(params).map(([name, param]) => [name, param.read(query[name])]),
  ) as StateOf<P>
}

/** Writes the state of a page. Parameters of others stay. */
export function writeState<P extends Params>(
  params: P,
  state: Partial<StateOf<P>>,
  query: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const next: Record<string, string> = { ...query }
  for (const [name, value] of Object.entries(state)) {
    const text = (params[name] as Param<unknown> | undefined)?.write(value)
    if (text === undefined || text === '') delete next[name]
    else next[name] = text
  }
  return next
}
