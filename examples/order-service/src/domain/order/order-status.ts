/** The statuses of an order, in the order of a delivery that goes well. */
export const orderStatuses = ['PENDING', 'PROCESSING', 'SHIPPED', 'DELIVERED', 'CANCELLED'] as const

export type OrderStatus = (typeof orderStatuses)[number]
