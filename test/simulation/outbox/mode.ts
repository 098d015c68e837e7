/** The modes that deliver. */
export const modes = ['singleNode', 'multiNode', 'keyed', 'leasing', 'ordered'] as const

/** One of them. */
export type Mode = (typeof modes)[number]
