/** The modes that deliver events. */
export const modes = ['singleNode', 'multiNode', 'keyed', 'leasing', 'ordered'] as const

/** One of the modes. */
export type Mode = (typeof modes)[number]
